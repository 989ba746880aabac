"""Joins the rooms into a study run: check, extract, charge, protect, write, report.

Import the module that does the job, for example ``neuroveil.pipeline.extract``; this
package imports none of them, so that worker processes stay small.
"""
