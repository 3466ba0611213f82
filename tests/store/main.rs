//! The conformance suite: what every store guarantees, with one test for each guarantee and store.
//!
//! A behavior is an async function that takes a fresh, empty store; `every_store!` lists them all and turns each into
//! one test for each store, such as `embedded::queues::a_settled_job_is_gone`. A new store is one line there and one
//! function in `fixture`. Tests that are specific to the embedded store are in `folders`, `restarts`, `crashes`,
//! `faults` and `backups`, and in the unit tests of `tests/store/embedded/`. `regular_files` does not concern a store.
//! Tests that are specific to Redis are in `redis_store`; `redis_faults` makes servers fail under load.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(unreachable_pub, reason = "nothing outside can reach a test")]

#[path = "../support"]
mod support {
    pub mod failing_disk;
    pub mod fifo;
    pub mod redis;
    pub mod sizes;
    pub mod stores;
    pub mod wait;
}

mod backups;
mod commits;
mod crashes;
mod entries;
mod faults;
mod fixture;
mod folders;
mod hints;
mod logs;
mod queues;
mod redis_faults;
mod redis_store;
mod regular_files;
mod restarts;
mod scans;

macro_rules! every_store {
    ($behaviours:tt) => {
        one_store!(memory $behaviours);
        one_store!(embedded $behaviours);
        one_store!(redis $behaviours);
        one_store!(redis_cluster $behaviours);
    };
}

macro_rules! one_store {
    ($store:ident { $($subject:ident: $($behaviour:ident)+;)+ }) => {
        mod $store {
            $(mod $subject {
                use crate::{fixture, $subject};
                $(#[test]
                fn $behaviour() {
                    fixture::run(fixture::$store, $subject::$behaviour);
                })+
            })+
        }
    };
}

every_store!({
    entries:
        a_put_value_comes_back_with_the_revision_that_put_it
        an_absent_check_lets_a_key_be_created_once
        a_revision_check_lets_the_newest_value_be_changed
        a_revision_check_fails_after_another_put
        a_check_sees_entries_of_any_size_as_they_are_put_and_deleted
        a_revision_check_fails_when_the_key_is_missing
        an_absent_check_holds_again_after_a_delete
        checks_see_the_state_before_the_commits_own_ops
        a_failing_second_check_leaves_nothing
        a_conflict_names_the_first_check_that_failed
        deleting_a_missing_key_is_harmless
        put_delete_put_in_one_commit_leaves_the_last
        put_then_delete_in_one_commit_leaves_nothing
        putting_the_same_value_again_moves_its_revision
        get_returns_entries_in_the_requested_order_with_gaps_for_missing_keys
        get_of_no_keys_returns_nothing
        get_of_many_keys_returns_all
        an_empty_value_is_a_value
        every_byte_comes_back_in_a_value
        a_value_of_eight_mebibytes_comes_back_whole
        names_in_any_script_are_distinct;
    commits:
        entry_message_and_job_are_committed_together
        revisions_count_effects_without_gaps
        a_commit_without_ops_counts
        a_repeat_returns_the_first_outcome_and_applies_nothing_twice
        a_repeat_takes_precedence_over_its_checks
        a_repeat_after_a_later_commit_still_returns_the_first_outcome
        a_repeat_does_not_restore_what_was_deleted_since
        an_id_is_free_after_a_conflict
        an_id_is_free_after_a_lost_lease
        an_id_is_remembered_for_a_quarter_of_an_hour
        an_id_is_remembered_when_the_clock_jumps_back_and_forth
        an_id_is_forgotten_eventually
        one_commit_repeated_concurrently_takes_effect_once
        increments_by_compare_and_set_lose_none
        two_thousand_concurrent_puts_all_take_effect
        concurrent_commits_get_distinct_revisions_and_times
        an_abandoned_commit_takes_effect_as_a_whole_or_not_at_all
        partitions_are_isolated
        one_id_in_two_partitions_is_two_commits
        partitions_are_listed_by_name_in_pages
        a_partition_is_listed_from_its_first_effect
        a_partition_stays_listed_when_all_its_keys_are_gone
        a_thousand_ops_fit_and_one_more_does_not
        a_thousand_checks_fit_and_one_more_does_not
        a_name_of_512_bytes_fits_and_one_more_does_not
        an_empty_name_is_refused_everywhere
        a_name_with_nul_is_refused_everywhere
        more_than_32_mebibytes_are_refused
        a_refused_commit_leaves_nothing;
    logs:
        messages_are_read_in_the_order_they_were_appended
        the_positions_of_a_commit_are_the_positions_read
        the_publish_time_is_that_of_the_clock
        publish_times_increase_while_the_clock_stands
        publish_times_increase_when_the_clock_is_set_back_an_hour
        the_messages_of_one_commit_share_its_publish_time
        attributes_keep_their_order_and_their_repeats
        a_thousand_attributes_fit_and_one_more_does_not
        a_message_may_be_empty
        a_log_is_read_in_pages
        reading_after_the_end_finds_nothing
        reading_no_messages_still_returns_the_bounds
        a_log_that_was_never_written_is_empty
        the_logs_of_a_partition_are_independent
        a_large_max_reads_everything
        trimming_drops_older_messages_and_returns_how_many
        trimming_stops_at_its_max_oldest_first
        trimming_a_log_that_does_not_exist_is_harmless
        trimming_thousands_drops_them_all
        trimming_large_messages_drops_them_all
        a_read_returns_the_trimmed_position
        positions_are_not_reused_after_a_trim
        a_trim_is_not_a_commit;
    queues:
        a_job_that_is_not_due_is_not_claimed
        a_job_is_claimed_at_the_moment_it_is_due
        jobs_are_claimed_longest_due_first
        a_claim_takes_no_more_than_its_max
        a_claim_of_no_jobs_returns_when_the_next_is_due
        a_large_max_claims_up_to_a_thousand_jobs
        a_claimed_job_is_not_given_to_another_worker
        when_a_lease_ends_the_job_goes_to_the_next_with_a_greater_lease
        a_job_whose_lease_ended_takes_its_turn_among_those_that_are_due
        an_old_lease_is_lost
        a_late_worker_that_was_not_replaced_may_settle
        a_settled_job_is_gone
        a_job_settled_with_a_next_time_is_due_again_then
        a_claim_can_be_settled_once
        settling_a_job_that_was_never_claimed_is_lost
        settling_a_job_that_does_not_exist_is_lost
        a_lost_lease_fails_the_whole_commit
        a_lost_second_lease_undoes_the_first_settle
        enqueueing_again_replaces_the_job
        enqueueing_again_loses_the_lease
        the_lease_of_a_removed_job_does_not_settle_its_successor
        a_job_enqueued_by_the_same_commit_cannot_be_settled
        a_job_can_be_settled_and_enqueued_again_in_one_commit
        next_due_is_the_next_job_or_the_end_of_a_lease
        next_due_is_now_when_more_is_due_than_was_claimed
        an_empty_queue_has_nothing_due
        the_queues_of_a_partition_are_independent
        all_jobs_of_a_queue_are_counted_up_to_a_number
        a_job_due_at_the_end_of_time_waits
        a_lease_of_zero_length_ends_at_once
        concurrent_workers_never_share_a_job;
    scans:
        a_scan_finds_what_starts_with_the_prefix_in_key_order
        keys_are_ordered_by_their_bytes
        a_prefix_ends_where_its_last_character_ends
        a_prefix_of_the_greatest_characters_has_an_end
        an_empty_prefix_finds_all
        a_key_that_is_the_prefix_is_found
        a_scan_continues_after_a_key
        a_scan_continues_after_a_key_that_was_deleted
        a_scan_after_a_key_before_the_prefix_starts_at_the_prefix
        a_scan_after_a_key_behind_the_prefix_finds_nothing
        pages_cover_all_entries_once_and_mark_the_last
        a_scan_of_no_entries_returns_whether_there_are_any
        a_large_max_scans_everything
        a_scan_returns_the_revision_of_each_entry
        deleted_keys_are_not_found;
    hints:
        a_commit_gives_a_hint
        every_listener_gets_a_hint
        a_hint_waits_for_its_listener
        a_reader_that_subscribes_first_misses_nothing
        a_listener_after_all_others_were_dropped_gets_hints
        a_change_is_visible_when_its_hint_comes
        a_listener_to_all_partitions_hears_of_each
        many_changes_are_one_hint_until_it_is_taken;
});
