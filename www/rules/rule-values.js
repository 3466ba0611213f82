/**
 * The values that the rules of a project name.
 */

/** The values of one rule, but for the one of a rule that must be yes or no. */
export const valuesOf = ({ allowedValues, deniedValues, itemIds }) => allowedValues ?? deniedValues ?? itemIds ?? [];

/** How many values a project has; a condition has none. */
export const valueCount = ({ restrictions = [] }) => restrictions.reduce((count, rule) => count + valuesOf(rule).length, 0);
