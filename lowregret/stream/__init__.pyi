from .batch import Batch as Batch
from .batch import Stream as Stream
from .read import read as read
