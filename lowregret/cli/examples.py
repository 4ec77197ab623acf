"""The examples at the end of `--help`: commands as one would type them."""

from __future__ import annotations

TRAIN = """examples:
  lowregret train clicks.svm.gz --loss logistic -o clicks.lr
  lowregret train flights.csv --target delay --drop flight --date scheduled --loss huber:15
  lowregret train mail.tsv --target folder --positive spam --text subject,body
  zcat big.vw.gz | lowregret train - --format vw --loss hinge --quiet --json
  lowregret train news20.svm --loss softmax --algorithm adagrad -o news.lr
  lowregret train more.svm --resume clicks.lr -o clicks.lr"""
PREDICT = """example:
  lowregret predict clicks.lr new.svm -o scores.txt --link prob"""
EXPERTS = """examples:
  lowregret experts load.csv.gz --target load --loss mape --plot weights.png
  lowregret experts rain.csv --target rained --experts model,radar,frog --loss brier --report rain.html
  lowregret experts football.csv --target result --classes H,D,A --odds --loss log --json
  lowregret experts prices.csv --no-header --loss portfolio"""
BANDIT = """example:
  lowregret bandit clicks.csv.gz --action banner --reward click --propensity p --report clicks.html"""
DIMENSION = """classes by name:
  thresholds:N              1[x < a], N of them on N − 1 points
  singletons:N              1[x = j] on N points
  intervals:N               1[a ≤ x < b] on N points
  cube:K                    all functions on K points
  disjunctions:D[:k=K]      OR of at most K of D variables, on {0,1}^D
  conjunctions:D[:k=K]      AND of at most K of D variables, on {0,1}^D
  parities:D                sums modulo 2 of some of D variables, on {0,1}^D
  halfspaces:N              half-planes on the N × N grid
  lists:D[:k=K]             decision lists of at most K tests of one of D variables, on {0,1}^D
  random:NxM[:seed=S][:density=P]   N hypotheses on M points, 1 with probability P (0.5)

examples:
  lowregret dimension class.csv --plot tree.png
  lowregret dimension thresholds:4096
  lowregret dimension random:500x100:seed=1 --time 10 --json"""
PLAY = """examples:
  lowregret play                                  all games, and who can play them
  lowregret play ftl-breaker ftl                  loses every round
  lowregret play ftl-breaker ogd --plot ogd.png   stays under √T
  lowregret play late:turn ogd-eager              answers come 10 rounds late
  lowregret play replay ogd --data clicks.svm"""
ZOO = """example:
  lowregret zoo ogd-lazy"""

WARM = """examples:
  lowregret warm                         auto, on all formats and on arrays in memory
  lowregret warm ogd:logistic adagrad:softmax csv vw
  lowregret warm --all --json"""
