"""Deployments that run: hospitals that send protected rows, and a server that checks them.

``wire``, ``manifest``, ``receipt`` and ``tls`` are what both sides share. ``hospital`` needs
nothing beyond neuroveil itself; ``server`` needs the extra ``server``.
"""
