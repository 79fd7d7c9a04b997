"""The evidence: which trainings are compared, their records, and the tables and figures that are made of them.

experiment      what an experiment, a contestant and a score are
experiments     all experiments, in the order in which they are trained
records         the kept records of runs under docs/results: the only module that reads and writes them
estimates       mean, spread and paired differences
learning_rates  how a score depends on the learning rate, and which rate is best
tables          the table of one experiment: of its trainings, its grid or its tunings
changed_line    the table of one changed line: a host alone against the same host with PlugSING
figures         the panels of the figures
line_figure     draws panels of lines as SVG

The commands are tools/train_experiments.py, which trains, and tools/make_results.py, which writes the documents.
"""
