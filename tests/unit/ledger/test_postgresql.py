"""What is particular about a ledger on a server. Needs PostgreSQL; see the fixture."""

import json
import sys
import threading
import time
from fractions import Fraction

import pytest

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, Terms
from neuroveil.ledger import postgresql as store
from neuroveil.types.budget import Scope

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgresql, new_schema) -> str:
    return postgresql.url(new_schema)


@pytest.fixture
def server_ledger(url) -> Ledger:
    return Ledger.create(url, Fraction(10), Fraction(1, 1000))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE neuroveil_entry SET body = '{}'",
        "DELETE FROM neuroveil_entry",
        "TRUNCATE neuroveil_entry",
        "INSERT INTO neuroveil_entry VALUES (7, '{}', '0')",
        "INSERT INTO neuroveil_entry VALUES (0, '{}', '0') "
        "ON CONFLICT (number) DO UPDATE SET body = '{}'",
        "DELETE FROM neuroveil_roster",
        "TRUNCATE neuroveil_roster",
    ],
)
def test_sql_cannot_change_remove_or_skip_an_entry(
    postgresql, new_schema, url, request_for, statement
):
    import psycopg

    ledger = Ledger.create(url, Fraction(10), Fraction(1, 1000))
    ledger.reserve(request_for())
    before = ledger.state()
    if "roster" in statement and not statement.startswith("TRUNCATE"):
        postgresql.run(new_schema, "INSERT INTO neuroveil_roster VALUES ('x', 'y')")
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        postgresql.run(new_schema, statement)
    if "roster" not in statement:
        assert ledger.state() == before


def test_a_role_that_may_only_read_and_add_is_enough(postgresql, new_schema, url, request_for):
    import psycopg

    Ledger.create(url, Fraction(10), Fraction(1, 1000))
    role = f"writer_{new_schema}"
    postgresql.run(
        new_schema,
        f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
        f"GRANT USAGE ON SCHEMA {new_schema} TO {role}",
        f"GRANT SELECT, INSERT ON neuroveil_entry, neuroveil_roster TO {role}",
    )
    as_writer = Ledger(postgresql.url(new_schema, role, "secret"))
    assert as_writer.reserve(request_for()).entry == 1
    as_writer.set_limit(Scope("study", "one"), Fraction(1), Fraction(0))
    with psycopg.connect(
        f"host=127.0.0.1 port={postgresql.port} dbname=postgres user={role} password=secret "
        f"options=-csearch_path={new_schema}",
        autocommit=True,
    ) as connection:
        for statement in (
            "UPDATE neuroveil_entry SET body = '{}'",
            "DELETE FROM neuroveil_entry",
            "TRUNCATE neuroveil_entry",
            "DROP TABLE neuroveil_entry",
            "ALTER TABLE neuroveil_entry DISABLE TRIGGER ALL",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_a_role_that_may_only_look(postgresql, new_schema, url, request_for):
    Ledger.create(url, Fraction(10), Fraction(1, 1000))
    role = f"reader_{new_schema}"
    postgresql.run(
        new_schema,
        f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
        f"GRANT USAGE ON SCHEMA {new_schema} TO {role}",
        f"GRANT SELECT ON neuroveil_entry, neuroveil_roster TO {role}",
    )
    reader = Ledger(postgresql.url(new_schema, role, "secret"))
    assert reader.state().limit[0] == 10
    with pytest.raises(BudgetError, match="may not write to"):
        reader.reserve(request_for())


def test_reading_only(url, server_ledger, request_for):
    with pytest.raises(BudgetError, match="a read-only one"):
        Ledger(url, read_only=True).reserve(request_for())
    assert server_ledger.state().entries == ()


def test_a_locked_ledger(postgresql, new_schema, url, server_ledger, request_for, monkeypatch):
    import psycopg

    monkeypatch.setattr(store, "LOCK_TIMEOUT_SECONDS", 0.2)
    with (
        psycopg.connect(
            f"host=127.0.0.1 port={postgresql.port} dbname=postgres user=owner "
            f"password={postgresql.password} options=-csearch_path={new_schema}"
        ) as holder,
    ):
        holder.execute(store._LOCK)
        with pytest.raises(BudgetError, match="another process has locked"):
            server_ledger.reserve(request_for())
        assert server_ledger.state().entries == ()  # looking is possible meanwhile
    assert server_ledger.reserve(request_for()).entry == 1


def test_a_writer_that_ignores_the_lock_cannot_spend_the_same_remainder(
    postgresql, new_schema, url, server_ledger, request_for
):
    """It has read entry 0 and writes entry 1, while we do the same: one of the two fails."""
    import psycopg

    with psycopg.connect(
        f"host=127.0.0.1 port={postgresql.port} dbname=postgres user=owner "
        f"password={postgresql.password} options=-csearch_path={new_schema}"
    ) as rude:
        rude.execute("INSERT INTO neuroveil_entry VALUES (1, '{}', '0')")
        outcome: list[str] = []

        def reserve() -> None:
            try:
                outcome.append(str(server_ledger.reserve(request_for()).entry))
            except BudgetError as refusal:
                outcome.append(refusal.where)

        ours = threading.Thread(target=reserve)
        ours.start()
        time.sleep(1.0)
        assert not outcome  # waits for the key that the other one holds
        rude.rollback()
        ours.join(timeout=60)
    assert outcome == ["1"]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE neuroveil_entry DISABLE TRIGGER neuroveil_entry_no_change",
        "DROP TRIGGER neuroveil_roster_no_truncate ON neuroveil_roster",
    ],
)
def test_a_ledger_without_its_guards_is_refused(
    postgresql, new_schema, server_ledger, request_for, statement
):
    postgresql.run(new_schema, statement)
    with pytest.raises(BudgetError, match="no guard"):
        server_ledger.reserve(request_for())


def test_tampering_behind_the_triggers_is_found(postgresql, new_schema, server_ledger, request_for):
    commitment = server_ledger.reserve(request_for()).commitment
    off, on = (f"ALTER TABLE neuroveil_entry {w} TRIGGER USER" for w in ("DISABLE", "ENABLE"))
    change = "UPDATE neuroveil_entry SET body = replace(body, 'gaussian', 'laplace')"
    postgresql.run(new_schema, off, change, on)
    with pytest.raises(BudgetError, match="does not match its hash"):
        server_ledger.state()
    postgresql.run(new_schema, off, "DELETE FROM neuroveil_entry WHERE number = 1", on)
    assert server_ledger.state().entries == ()
    with pytest.raises(BudgetError, match="before entry 1"):
        server_ledger.check_commitment(commitment)


def wait_for_fsync(url, setting):
    """Wait until the server has read its settings again."""
    import psycopg

    until = time.monotonic() + 60
    plain = url.replace("postgresql+psycopg", "postgresql")
    while time.monotonic() < until:
        with psycopg.connect(plain) as connection:
            if connection.execute("SHOW fsync").fetchone() == (setting,):
                return
        time.sleep(0.02)
    pytest.fail("the server did not read its settings again")


def test_a_server_that_does_not_flush_is_refused(
    postgresql, new_schema, url, server_ledger, request_for
):
    try:
        postgresql.run("public", "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        wait_for_fsync(url, "off")
        with pytest.raises(BudgetError, match="flushes every commit"):
            server_ledger.reserve(request_for())
    finally:
        postgresql.run("public", "ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
        wait_for_fsync(url, "on")
    assert server_ledger.reserve(request_for()).entry == 1


def test_a_session_that_does_not_wait_for_the_disk_is_made_to(
    postgresql, new_schema, server_ledger, request_for
):
    postgresql.run("public", "ALTER ROLE owner SET synchronous_commit = off")
    try:
        with server_ledger._store.writing() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    finally:
        postgresql.run("public", "ALTER ROLE owner RESET synchronous_commit")


def test_patients_are_recognised_with_a_key_outside_the_database(
    postgresql, new_schema, url, tmp_path, request_for
):
    with pytest.raises(BudgetError, match="--key-file"):
        Ledger.create(url, Fraction(10), Fraction(1, 1000), Terms(site_wide_keys=True))
    key = tmp_path / "site.key"
    terms = Terms(site_wide_keys=True, key_file=key)
    ledger = Ledger.create(url, Fraction(10), Fraction(1, 1000), terms)
    a, b, c = ledger.patient_digests("abc")
    ledger.reserve(request_for("7", patients=(a, b)))
    assert ledger.reserve(request_for("7", patients=(c,))).prior_releases == 0
    with pytest.raises(BudgetError, match="epsilon = 3, delta"):
        Ledger(url, key_file=key).reserve(request_for("4", patients=(b,)))
    with pytest.raises(BudgetError, match="--key-file"):
        Ledger(url).patient_digests("a")


def test_the_commands_take_a_url(url, tmp_path, capsys):
    from neuroveil.cli.app import run

    limit = ["--epsilon", "2", "--delta", "1e-5"]
    started = run(["ledger", "init", url, *limit, "--site-wide-keys", "--key-file",
                   str(tmp_path / "site.key"), "--json"])  # fmt: skip
    assert started == 0
    assert json.loads(capsys.readouterr().out)["ledger"] == "the PostgreSQL ledger"
    assert run(["ledger", "limit", url, "--scope", "study:one", *limit]) == 0
    assert run(["ledger", "show", url]) == 0
    assert run(["ledger", "verify", url]) == 0
    assert run(["ledger", "export", url]) == 0
    said = capsys.readouterr()
    assert "127.0.0.1" not in said.out + said.err
    assert run(["ledger", "init", url, *limit]) == 4


class TestLocations:
    def test_nothing_of_the_url_stands_in_a_message(self, postgresql, new_schema, monkeypatch):
        wrong = postgresql.url(new_schema, password="canary-password")
        elsewhere = wrong.replace(str(postgresql.port), "1")
        for url, said in ((wrong, "refuses this user|does not answer"), (elsewhere, "not answer")):
            with pytest.raises(BudgetError, match=said) as refusal:
                Ledger(url)
            assert "canary" not in f"{refusal.value} {refusal.value.as_dict()}"
            assert "127.0.0.1" not in str(refusal.value)

    def test_a_schema_without_a_ledger(self, url):
        assert not Ledger.exists(url)
        with pytest.raises(BudgetError, match="an existing ledger"):
            Ledger(url)

    def test_the_short_form_of_the_url(self, url, server_ledger):
        assert Ledger(url.replace("+psycopg", "")).state() == server_ledger.state()


def test_without_the_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BudgetError, match=r"neuroveil\[server\]"):
        Ledger("postgresql+psycopg://localhost/nowhere")


@pytest.mark.parametrize("url", ["mysql://localhost/x", "sqlite:///x", "://", "postgresql+x://y"])
def test_other_locations_are_refused(url):
    with pytest.raises(BudgetError, match="Name a file, or the URL"):
        Ledger(url)
