/**
 * The values that the rules of a project name.
 */

/** The values of one rule, except for a required yes or no. */
export const valuesOf = ({ allowedValues, deniedValues, itemIds }) => allowedValues ?? deniedValues ?? itemIds ?? [];

/** The number of values in a project; a condition has none. */
export const valueCount = ({ restrictions = [] }) => restrictions.reduce((count, rule) => count + valuesOf(rule).length, 0);
