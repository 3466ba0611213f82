//! What a store promises, each promise a test for each store.
//!
//! A behaviour is an async function that takes a fresh, empty store; `every_store!` names them all
//! and makes of each one test a store: `store::embedded::queues::a_settled_job_is_gone`. A new store
//! is one line there and one function in `fixture`. What only the embedded store can show (crashes,
//! folders, disks) is in `folders`, `restarts` and `crashes`.

mod commits;
mod crashes;
mod entries;
mod fixture;
mod folders;
mod hints;
mod logs;
mod queues;
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
                use crate::store::{fixture, $subject};
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
        an_absent_check_lets_a_key_be_made_once
        a_revision_check_lets_the_newest_value_be_changed
        a_revision_check_fails_after_another_put
        a_check_sees_entries_of_any_size_as_they_come_and_go
        a_revision_check_fails_when_the_key_is_missing
        an_absent_check_holds_again_after_a_delete
        checks_see_the_state_before_the_commits_own_ops
        a_failing_second_check_leaves_nothing
        a_conflict_names_the_first_check_that_failed
        deleting_a_missing_key_is_harmless
        put_delete_put_in_one_commit_leaves_the_last
        put_then_delete_in_one_commit_leaves_nothing
        putting_the_same_value_again_moves_its_revision
        get_answers_in_the_order_asked_with_gaps_for_missing
        get_of_nothing_answers_nothing
        get_of_more_keys_than_a_page_answers_all
        an_empty_value_is_a_value
        every_byte_comes_back_in_a_value
        a_value_of_eight_mebibytes_comes_back_whole
        names_of_any_script_are_kept_apart;
    commits:
        row_message_and_job_move_together
        revisions_count_effects_without_gaps
        a_commit_without_ops_counts
        a_repeat_answers_the_first_outcome_and_doubles_nothing
        a_repeat_is_known_before_its_checks_are_asked
        a_repeat_after_a_later_commit_still_answers_the_first_outcome
        a_repeat_does_not_bring_back_what_went_since
        an_id_is_free_after_a_conflict
        an_id_is_free_after_a_lost_lease
        an_id_is_remembered_for_a_quarter_of_an_hour
        an_id_is_remembered_when_the_clock_jumps_back_and_forth
        an_id_is_forgotten_in_the_end
        one_commit_repeated_at_once_by_many_takes_effect_once
        two_thousand_increments_by_compare_and_set_lose_none
        two_thousand_puts_at_once_are_all_there
        commits_at_once_each_get_a_revision_and_a_time_of_their_own
        a_caller_who_walks_away_leaves_all_or_nothing
        partitions_share_nothing
        one_id_in_two_partitions_is_two_commits
        partitions_are_listed_by_name_in_pages
        a_partition_is_listed_from_its_first_effect
        a_partition_stays_listed_when_all_its_keys_are_gone
        a_thousand_ops_fit_and_one_more_does_not
        a_thousand_checks_fit_and_one_more_does_not
        a_name_of_512_bytes_fits_and_one_more_does_not
        an_empty_name_is_refused_wherever_it_stands
        a_name_with_nul_is_refused_wherever_it_stands
        more_than_32_mebibytes_are_refused
        a_refused_commit_leaves_nothing;
    logs:
        messages_are_read_in_the_order_they_were_appended
        the_positions_answered_are_the_positions_read
        the_publish_time_is_the_clocks
        publish_times_increase_while_the_clock_stands
        publish_times_increase_when_the_clock_is_set_back_an_hour
        the_messages_of_one_commit_share_its_publish_time
        attributes_keep_their_order_and_their_repeats
        a_thousand_attributes_fit_and_one_more_does_not
        a_message_may_be_empty
        a_log_is_read_by_pages
        reading_after_the_end_finds_nothing
        reading_no_messages_still_tells_the_ends
        a_log_that_was_never_written_is_empty
        the_logs_of_a_partition_are_apart
        a_large_max_reads_what_is_there
        trimming_drops_what_is_older_and_tells_how_much
        trimming_stops_at_its_max_oldest_first
        trimming_a_log_that_is_not_there_is_harmless
        trimming_thousands_drops_them_all
        what_was_trimmed_is_told
        positions_are_not_used_again_after_a_trim
        a_trim_is_not_a_commit;
    queues:
        a_job_that_is_not_due_is_not_claimed
        a_job_is_claimed_at_the_moment_it_is_due
        jobs_are_claimed_longest_due_first
        a_claim_takes_no_more_than_its_max
        a_claim_of_none_tells_when_to_come
        a_large_max_claims_what_is_there_up_to_a_thousand
        a_claimed_job_is_not_given_to_another_worker
        when_a_lease_ends_the_job_goes_to_the_next_with_a_greater_lease
        an_old_lease_is_lost
        a_late_worker_that_was_not_replaced_may_settle
        a_settled_job_is_gone
        a_job_settled_with_a_next_time_comes_back_then
        a_claim_can_be_settled_once
        settling_a_job_that_was_never_claimed_is_lost
        settling_a_job_that_is_not_there_is_lost
        a_lost_lease_takes_the_whole_commit_with_it
        a_lost_second_lease_undoes_the_first_settle
        enqueueing_again_replaces_the_job
        enqueueing_again_loses_the_lease
        a_lease_of_a_job_that_went_does_not_settle_its_successor
        a_job_enqueued_by_the_same_commit_cannot_be_settled
        a_job_can_be_settled_and_enqueued_again_in_one_commit
        next_due_is_the_next_job_or_the_end_of_a_lease
        next_due_is_now_when_more_is_due_than_was_claimed
        an_empty_queue_has_nothing_due
        the_queues_of_a_partition_are_apart
        a_job_due_at_the_end_of_time_waits
        a_lease_without_length_ends_at_once
        workers_at_once_never_share_a_job;
    scans:
        a_scan_finds_what_starts_with_the_prefix_in_key_order
        keys_are_ordered_by_their_bytes
        a_prefix_ends_where_its_last_character_ends
        a_prefix_of_the_greatest_characters_has_an_end
        an_empty_prefix_finds_all
        a_key_that_is_the_prefix_is_found
        a_scan_goes_on_after_a_key
        a_scan_after_a_key_that_is_gone_goes_on_behind_it
        a_scan_after_a_key_before_the_prefix_starts_at_the_prefix
        a_scan_after_a_key_behind_the_prefix_finds_nothing
        pages_cover_all_once_and_say_when_they_end
        a_scan_of_none_tells_whether_there_are_any
        a_large_max_scans_what_is_there
        a_scan_tells_each_entrys_revision
        deleted_keys_are_not_found;
    hints:
        a_commit_is_heard
        every_listener_hears
        a_commit_while_nobody_looks_is_heard_later
        who_listens_and_then_looks_misses_nothing
        listening_again_after_all_went_still_hears
        who_hears_can_read_what_changed;
});
