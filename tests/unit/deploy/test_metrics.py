"""Counters of one process, and of several that answer for each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from neuroveil.deploy.server.metrics import Metrics, forget_metrics, metrics_folder

REQUEST = 'neuroveil_requests_total{route="/healthz",status="200"}'


def count(metrics: Metrics, times: int) -> None:
    for _ in range(times):
        metrics.count("requests", route="/healthz", status="200")


def test_a_process_counts_for_itself():
    one, other = Metrics(), Metrics()
    count(one, 3)
    assert f"{REQUEST} 3" in one.text({}).splitlines()
    assert REQUEST not in other.text({})


def test_workers_count_together_and_in_threads(tmp_path):
    workers = [Metrics(metrics_folder(tmp_path)) for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda worker: count(worker, 20), workers * 2))
    for worker in workers:
        assert f"{REQUEST} 120" in worker.text({}).splitlines()
    # One that has ended has counted all the same; a new one goes on from there.
    assert f"{REQUEST} 120" in Metrics(metrics_folder(tmp_path)).text({}).splitlines()


def test_what_cannot_be_read_or_written_hurts_no_request(tmp_path):
    worker = Metrics(metrics_folder(tmp_path))
    count(worker, 2)
    (metrics_folder(tmp_path) / "torn.json").write_text('[["neuroveil_req')
    assert f"{REQUEST} 2" in worker.text({}).splitlines()
    forget_metrics(tmp_path)
    count(worker, 1)  # the folder is gone
    assert f"{REQUEST} 3" in worker.text({}).splitlines()


def test_a_server_that_starts_counts_from_zero(tmp_path):
    count(Metrics(metrics_folder(tmp_path)), 5)
    forget_metrics(tmp_path)
    assert REQUEST not in Metrics(metrics_folder(tmp_path)).text({})


def test_states_are_a_gauge_and_every_counter_is_described():
    lines = Metrics().text({"accepted": 2}, {"waiting": 3}).splitlines()
    assert 'neuroveil_jobs{state="waiting"} 3' in lines
    assert "neuroveil_jobs" not in Metrics().text({"accepted": 2})
    assert 'neuroveil_submissions{state="accepted"} 2' in lines
    described = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert described == {line.split()[2] for line in lines if line.startswith("# HELP")}
