//! Problem codes, by which programs tell errors apart. Each problem document has one as `code`. `/openapi.json` lists the codes
//! of each operation and describes them.

/// The number of characters after which an id is cut off in a sentence.
const MAX_ID: usize = 256;

/// A kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub status: u16,
    /// The name in problem documents, which does not change from version to version.
    pub name: &'static str,
    /// A description for readers of the documents.
    pub meaning: &'static str,
}

impl Code {
    /// Returns the sentence about an id that does not exist. The id comes from the caller, so it is quoted and
    /// shortened.
    #[must_use]
    pub fn missing(self, id: &str) -> String {
        let what = self.name.strip_suffix("_not_found").unwrap_or(self.name);
        let id: String = id.chars().take(MAX_ID).collect();
        format!("there is no {} {id:?}", what.replace('_', " "))
    }
}

/// Defines a constant for each row.
macro_rules! codes {
    ($($status:literal $constant:ident $name:literal $meaning:literal)*) => {
        $(pub const $constant: Code = Code { status: $status, name: $name, meaning: $meaning };)*
    };
}

codes! {
    400 INVALID "invalid" "The request is invalid. `message` names each fault and its place."
    400 UNKNOWN_MEMBER "unknown_member" "The request has members or parameters that do not exist here, and no other faults."
    401 UNAUTHENTICATED "unauthenticated" "There is no valid token."
    403 PERMISSION_MISSING "permission_missing" "The caller lacks a permission. `detail` names it, and a role that has it."
    403 OTHER_TENANT "other_tenant" "Only callers of this tenant or of the platform may do this."
    403 TENANT_UNKNOWN "tenant_unknown" "The token names a tenant that does not exist here."
    403 PLATFORM_ONLY "platform_only" "Only the platform's administrators may do this."
    403 ROLE_RESERVED "role_reserved" "The role is for the platform's own clients."
    403 EVENT_TYPE_RESERVED "event_type_reserved" "Only the service itself publishes events of this type."
    404 PATH_NOT_FOUND "path_not_found" "There is nothing at this path."
    404 CONDITION_NOT_FOUND "condition_not_found" "There is no such condition."
    404 PROJECT_NOT_FOUND "project_not_found" "There is no such project."
    404 TILL_NOT_FOUND "till_not_found" "There is no till with this name."
    404 BUSINESS_UNIT_NOT_FOUND "business_unit_not_found" "There is no such business unit."
    404 RATE_NOT_FOUND "rate_not_found" "The business unit has no such rate."
    404 CHANGE_NOT_FOUND "change_not_found" "There is no such change, or it is no longer kept."
    404 WEBHOOK_NOT_FOUND "webhook_not_found" "There is no such webhook."
    404 EVENT_NOT_FOUND "event_not_found" "There is no such event, or it is no longer kept."
    404 DELIVERY_NOT_FOUND "delivery_not_found" "There is no such delivery, or it is no longer kept."
    404 REPLAY_NOT_FOUND "replay_not_found" "There is no such replay."
    404 CONSUMER_NOT_FOUND "consumer_not_found" "There is no such consumer."
    404 TENANT_NOT_FOUND "tenant_not_found" "There is no such tenant."
    404 CLIENT_NOT_FOUND "client_not_found" "There is no such client."
    404 TEMPLATE_NOT_FOUND "template_not_found" "There is no template for this software."
    404 SOFTWARE_STATEMENT_NOT_FOUND "software_statement_not_found" "There is no such software statement, or it is no longer valid."
    404 ROLE_NOT_FOUND "role_not_found" "There is no such role."
    404 JOB_NOT_FOUND "job_not_found" "There is no such job among the dead letters."
    405 METHOD_NOT_ALLOWED "method_not_allowed" "The path does not take this method. `Allow` lists those that it takes."
    406 NOT_ACCEPTABLE "not_acceptable" "`Accept` does not allow the media type of the answer."
    408 BODY_TOO_SLOW "body_too_slow" "The body arrived too slowly."
    409 QUOTA_EXCEEDED "quota_exceeded" "The tenant has reached a quota. `detail` names the quota and its limit."
    409 CHANGED_MEANWHILE "changed_meanwhile" "Another request changed the resource at the same time."
    409 ID_IS_GLOBAL "id_is_global" "A global condition has this id."
    409 TESTS_FAILED "tests_failed" "Tests of the condition or project fail. `message` names each."
    409 RATE_DEVIATES "rate_deviates" "A rate would move by more than the tolerance. `deviations` lists each; `acceptDeviation=true` accepts them."
    409 UNIT_MISPLACED "unit_misplaced" "The business unit cannot have this parent or this type."
    409 UNIT_NOT_EMPTY "unit_not_empty" "The business unit has other units below it."
    409 TOO_MANY_RATES "too_many_rates" "A business unit would use more rates than it may."
    409 REFERENCE_UNAVAILABLE "reference_unavailable" "The reference rates cannot be imported now."
    409 WEBHOOK_DISABLED "webhook_disabled" "The webhook is disabled."
    409 WEBHOOK_DELETED "webhook_deleted" "The webhook of the delivery was deleted."
    409 EVENT_ID_TAKEN "event_id_taken" "Another event was published with this id in the last 24 hours."
    409 KEY_WAITING "key_waiting" "A new key has already been published, but does not sign yet."
    409 CLIENT_EXISTS "client_exists" "A client with the same claims, software and tenant already exists."
    409 CLIENT_REVOKED "client_revoked" "The client is revoked, which is permanent."
    409 TEMPLATE_EXISTS "template_exists" "There is already a template for this software."
    409 ROLE_BUILT_IN "role_built_in" "The role is built in and cannot be changed."
    412 VERSION_OUTDATED "version_outdated" "The current version is not the one that `If-Match` names. Nothing was changed."
    412 ALREADY_EXISTS "already_exists" "The resource already exists, and the request has `If-None-Match: *`. Nothing was changed."
    413 BODY_TOO_LARGE "body_too_large" "The body is longer than `x-max-body-bytes`."
    415 UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "The body has a media type that is not accepted here, or a content encoding."
    429 RATE_LIMITED "rate_limited" "There are too many requests. Try again after `Retry-After` seconds."
    429 TOO_MUCH_WAITING "too_much_waiting" "The tenant has too much work waiting. Try again after `Retry-After` seconds."
    499 CLIENT_GONE "client_gone" "The client no longer waits for the answer."
    500 INTERNAL "internal" "An error occurred in the service. Its log has the correlation id."
    503 STORE_UNAVAILABLE "store_unavailable" "The store is unavailable. Try again after `Retry-After` seconds."
    503 OVERLOADED "overloaded" "The host has no room for the request now. Try again after `Retry-After` seconds."
    503 BUSY "busy" "Other requests keep changing the same thing. Try again after `Retry-After` seconds."
}
