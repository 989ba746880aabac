"""Ways to bring something under audit: ours, a Python function, a command.

:mod:`~neuroveil.audit.subjects.ours` runs a mechanism of this package,
:mod:`~neuroveil.audit.subjects.function` a Python function,
:mod:`~neuroveil.audit.subjects.process` any program that reads rows and writes answers, and
:mod:`~neuroveil.audit.subjects.whole_pipeline` the way from a feature table to released rows.
"""
