"""Deployments that run: hospitals that send releases or pseudonymised rows, and a server.

``wire``, ``manifest``, ``pseudonymised``, ``receipt`` and ``tls`` are what both sides share.
``hospital`` needs nothing beyond neuroveil itself; ``server`` needs the extra ``server``.
"""
