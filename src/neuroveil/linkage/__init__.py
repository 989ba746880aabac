"""Find the same patient in two hospitals without giving anyone away.

:mod:`~neuroveil.linkage.text`, :mod:`~neuroveil.linkage.identifiers`,
:mod:`~neuroveil.linkage.names` and :mod:`~neuroveil.linkage.dates` bring what hospitals write
down into one canonical form, which is the same wherever it was written.
:mod:`~neuroveil.linkage.key_service` says who computes with the project's key: a
:mod:`~neuroveil.linkage.keystore`, an :mod:`~neuroveil.linkage.openbao` server or a
:mod:`~neuroveil.linkage.pkcs11` module. :mod:`~neuroveil.linkage.encode` makes of a patient
list what the linkage unit receives, and :mod:`~neuroveil.linkage.linked` finds who is one
person in what it received.
"""
