"""Tables of studies that the server protects: who may do what, how far a study is, sealed rows."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()

PERSON = sa.Table(
    "deploy_person",
    METADATA,
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("public_key", sa.String(64), nullable=False),
    sa.Column("role", sa.String(24), nullable=False),
    sa.Column("hospital", sa.String(32)),
    sa.Column("is_active", sa.Boolean, nullable=False),
)
CERTIFICATE = sa.Table(
    "deploy_certificate",
    METADATA,
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("fingerprint", sa.String(64), nullable=False),
)
STUDY = sa.Table(
    "deploy_study",
    METADATA,
    sa.Column("study", sa.String(40), primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("proposed", sa.Float, nullable=False),
    sa.Column("proposed_by", sa.String(32), nullable=False),
    sa.Column("proposal", sa.Text, nullable=False),
    sa.Column("proposal_digest", sa.String(80), nullable=False),
    sa.Column("linked", sa.Text),
    sa.Column("ended", sa.Float),
)
PARTNER = sa.Table(
    "deploy_partner",
    METADATA,
    sa.Column("study", sa.String(40), primary_key=True),
    sa.Column("hospital", sa.String(32), primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("approved_by", sa.String(32)),
)
UPLOAD = sa.Table(
    "deploy_upload",
    METADATA,
    sa.Column("study", sa.String(40), primary_key=True),
    sa.Column("hospital", sa.String(32), primary_key=True),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("content_mac", sa.String(64), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("received", sa.BigInteger, nullable=False),
    sa.Column("facts", sa.Text),
)
CHUNK = sa.Table(
    "deploy_chunk",
    METADATA,
    sa.Column("study", sa.String(40), primary_key=True),
    sa.Column("hospital", sa.String(32), primary_key=True),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
DATA_KEY = sa.Table(
    "deploy_data_key",
    METADATA,
    sa.Column("study", sa.String(40), primary_key=True),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
)
RELEASE = sa.Table(
    "deploy_release",
    METADATA,
    sa.Column("release", sa.String(32), primary_key=True),
    sa.Column("study", sa.String(40), nullable=False, index=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("requested", sa.Float, nullable=False),
    sa.Column("requested_by", sa.String(32), nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("request_digest", sa.String(80), nullable=False),
    sa.Column("reviewed_by", sa.String(32)),
    sa.Column("facts", sa.Text),
)
JOB = sa.Table(
    "deploy_job",
    METADATA,
    sa.Column("release", sa.String(32), primary_key=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("worker", sa.String(32)),
    sa.Column("lease", sa.Float, nullable=False),
    sa.Column("charged", sa.Integer),
    sa.Column("commitment", sa.Text),
)
