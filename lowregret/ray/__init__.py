"""Training on a Ray cluster: `lowregret.ray.train`. Needs the extra `ray`.

from lowregret import Logistic, zoo
from lowregret.ray import train
run = train(zoo.adagrad(Logistic()), "clicks/*.svm", workers=8, staleness=10_000, cuts="s3://bucket/clicks")
"""

from lowregret.ray.training import train

__all__ = ["train"]
