"""Learning spread over many workers: the algorithm itself, without transport, time or scheduling.

server      holds the numbers of some features; workers pull them, and push what they learnt
register    says who may begin a batch, in which order batches count, and keeps the ledger of all
worker      reads its shard, and learns batches on copies of what it pulled
shard       rows dealt to workers, and how far each shard is learnt
gather      all of it put together again: a run like others, with its proof
figures     what workers counted, as one
simulate    a run played in virtual time, on as many workers as one likes; `clock` is the time, `costs` what takes it
"""
