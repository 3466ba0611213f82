//! The members that files may have, in the order in which they are written.

use tillgate_engine::rate::{Percentage, Rate};
use tillgate_engine::restriction::ProjectId;

use super::shape::{Default, Member, Shape};

const ANY: Shape = Shape::Any;
const PERCENTAGE: Shape = Shape::Spelled(|text| {
    let percentage = Percentage::parse(text).ok()?;
    Some(percentage.value().to_string())
});
const RATE: Shape = Shape::Spelled(|text| Some(Rate::parse(text).ok()?.value().to_string()));
const PROJECT_ID: Shape = Shape::SpelledText(|text| Some(ProjectId::new(text)?.to_string()));

pub(super) const ROLE: &[Member] = &[
    Member::new("roleId", ANY),
    Member::new("permissions", Shape::Set),
];

pub(super) const TEMPLATE: &[Member] = &[
    Member::new("softwareId", ANY),
    Member::new("softwareVersion", ANY),
    Member::new("name", ANY),
    Member::new("claimsSchema", ANY),
    Member {
        default: Default::Is("[]"),
        ..Member::new(
            "roles",
            Shape::List(&Shape::Object(&[Member::new("roleId", ANY)])),
        )
    },
];

const ENABLED: Member = Member {
    default: Default::Is("true"),
    ..Member::new("enabled", ANY)
};

const EXPECTED: &[Member] = &[Member::new("decision", ANY), Member::new("reasons", ANY)];

const TESTS: Member = Member {
    default: Default::NoneOrEmpty,
    ..Member::new(
        "tests",
        Shape::List(&Shape::Object(&[
            Member::new("name", ANY),
            Member::new("request", ANY),
            Member::new("expect", Shape::Object(EXPECTED)),
        ])),
    )
};

pub(super) const CONDITION: &[Member] = &[
    Member::new("id", ANY),
    Member::new("rule", ANY),
    ENABLED,
    Member::new("condition_value", ANY),
    TESTS,
];

const EXCLUSIVE: Member = Member {
    default: Default::Is("false"),
    ..Member::new("exclusive", ANY)
};

const TYPE: Member = Member::new("type", ANY);
const PROPERTY_NAME: Member = Member::new("propertyName", ANY);

const RESTRICTION: Shape = Shape::Tagged(
    "type",
    &[
        (
            "WHITELIST",
            &[
                TYPE,
                PROPERTY_NAME,
                Member::new("allowedValues", ANY),
                EXCLUSIVE,
            ],
        ),
        (
            "BLACKLIST",
            &[
                TYPE,
                PROPERTY_NAME,
                Member::new("deniedValues", ANY),
                EXCLUSIVE,
            ],
        ),
        (
            "BOOLEAN",
            &[TYPE, PROPERTY_NAME, Member::new("value", ANY), EXCLUSIVE],
        ),
        (
            "WHITELISTEDITEMS",
            &[TYPE, Member::new("itemIds", ANY), EXCLUSIVE],
        ),
        (
            "BLACKLISTEDITEMS",
            &[TYPE, Member::new("itemIds", ANY), EXCLUSIVE],
        ),
    ],
);

pub(super) const PROJECT: &[Member] = &[
    Member::new("projectId", PROJECT_ID),
    Member::new("name", ANY),
    Member::new("restrictions", Shape::List(&RESTRICTION)),
    TESTS,
];

const RATE_TYPE: Member = Member::new("exchangeRateType", ANY);
const FROM: Member = Member::new("currencyIdFrom", ANY);
const TO: Member = Member::new("currencyIdTo", ANY);

pub(super) const UNIT: &[Member] = &[
    Member::new("id", ANY),
    Member::new("type", ANY),
    Member::new("parentId", ANY),
    Member::new("name", ANY),
    Member::new("markupPercentage", PERCENTAGE),
    Member {
        default: Default::NoneOrEmpty,
        ..Member::new(
            "markups",
            Shape::List(&Shape::Object(&[
                RATE_TYPE,
                FROM,
                TO,
                Member::new("markupPercentage", PERCENTAGE),
            ])),
        )
    },
    Member::new("tolerancePercentage", PERCENTAGE),
    Member {
        default: Default::NoneOrEmpty,
        ..Member::new(
            "tolerances",
            Shape::List(&Shape::Object(&[
                RATE_TYPE,
                FROM,
                TO,
                Member::new("tolerancePercentage", PERCENTAGE),
            ])),
        )
    },
];

pub(super) const RATES: &[Member] = &[
    Member::new("businessUnitId", ANY),
    Member::new(
        "rates",
        Shape::List(&Shape::Object(&[
            RATE_TYPE,
            FROM,
            TO,
            Member::new("rateValue", RATE),
        ])),
    ),
];

pub(super) const WEBHOOK: &[Member] = &[
    Member::new("name", ANY),
    Member::new("callbackUrl", ANY),
    Member::new("eventTypes", ANY),
    Member {
        default: Default::NoneOrEmpty,
        ..Member::new(
            "filter",
            Shape::List(&Shape::Object(&[
                Member::new("path", ANY),
                Member::new("in", ANY),
            ])),
        )
    },
    Member::new(
        "authentication",
        Shape::Tagged(
            "type",
            &[
                ("BEARER", &[TYPE]),
                (
                    "BASIC",
                    &[
                        TYPE,
                        Member::new("username", ANY),
                        Member::new("password", Shape::Secret),
                    ],
                ),
            ],
        ),
    ),
    Member::new("sharedKey", Shape::Secret),
    Member::new("signatureHeader", ANY),
    Member::new("maxPerSecond", ANY),
    ENABLED,
];
