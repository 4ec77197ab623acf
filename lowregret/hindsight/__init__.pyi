from .best import Report as Report
from .best import Solution as Solution
from .best import best_fixed as best_fixed
from .best import best_in_hindsight as best_in_hindsight
from .best import require_answer as require_answer
from .passes import Pass as Pass
