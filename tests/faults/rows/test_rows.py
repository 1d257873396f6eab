"""Each row of the fault matrix by its number; no invariant breaks, and Jobs start in time again."""

from faults.rows.matrix import rows_of
from faults.rows.row import recovered


def recovers(number: int) -> None:
    for row in rows_of(number):
        assert recovered(row) <= row.within, row.fault


def test_row_01_the_leader_is_killed_between_two_durable_steps() -> None:
    recovers(1)


def test_row_02_the_leader_is_paused_past_its_lease() -> None:
    recovers(2)


def test_row_03_two_operators_lead_at_once() -> None:
    recovers(3)


def test_row_04_the_event_loop_stands_still() -> None:
    recovers(4)


def test_row_05_a_crash_loop_during_the_first_list() -> None:
    recovers(5)


def test_row_08_the_api_server_restarts() -> None:
    recovers(8)


def test_row_09_a_watch_expired_410() -> None:
    recovers(9)


def test_row_10_a_watch_falls_silent() -> None:
    recovers(10)


def test_row_11_a_watch_closes_at_once_again_and_again() -> None:
    recovers(11)


def test_row_12_old_events_are_replayed() -> None:
    recovers(12)


def test_row_13_a_name_is_used_again_unseen() -> None:
    recovers(13)


def test_row_14_a_job_changes_before_its_start_409() -> None:
    recovers(14)


def test_row_15_too_many_requests_429() -> None:
    recovers(15)


def test_row_16_an_answer_is_lost_after_the_write() -> None:
    recovers(16)


def test_row_17_a_list_breaks_off_at_a_page() -> None:
    recovers(17)


def test_row_18_lists_are_forbidden_in_mid_flight_403() -> None:
    recovers(18)


def test_row_29_an_asymmetric_partition() -> None:
    recovers(29)


def test_row_30_links_fail_and_return_in_another_order() -> None:
    recovers(30)


def test_row_31_the_wall_clock_steps() -> None:
    recovers(31)


def test_row_32_a_clock_runs_slow() -> None:
    recovers(32)


def test_row_33_nodes_fall_silent() -> None:
    recovers(33)


def test_row_34_a_pod_is_removed_by_force() -> None:
    recovers(34)


def test_row_35_a_job_is_deleted_and_its_pods_stay() -> None:
    recovers(35)


def test_row_36_somebody_starts_a_job_past_kwicket() -> None:
    recovers(36)


def test_row_37_a_limit_is_lowered_below_use() -> None:
    recovers(37)


def test_row_38_a_flood_of_jobs_from_one_tenant() -> None:
    recovers(38)


def test_row_39_statuses_are_refused() -> None:
    recovers(39)


def test_row_42_the_leaders_memory_goes_wrong() -> None:
    recovers(42)
