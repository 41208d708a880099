// The three forms of a time: whole seconds, a receipt's, and that of the rest of a record (PROTOCOL §2, §4, §9).
//
// Times are compared as texts: `instant` gives each form one spelling of the same length.

const isLeap = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

function isReal(year, month, day, hour, minute, second) {
  if (year < 1 || month < 1 || month > 12) return false;
  const days = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
}

function instantBy(form, text) {
  const found = typeof text === 'string' ? form.exec(text) : null;
  if (!found || !isReal(...found.slice(1, 7).map(Number))) return null;
  return `${text.slice(0, 19)}.${found[7] ?? '000000'}`;
}

const DATE_TIME = '(\\d{4})-(\\d\\d)-(\\d\\d)T(\\d\\d):(\\d\\d):(\\d\\d)';
const SECONDS = new RegExp(`^${DATE_TIME}Z$`);
const RECEIPT = new RegExp(`^${DATE_TIME}\\.(\\d{6})Z$`);
const RECORD = new RegExp(`^${DATE_TIME}\\.(\\d{6})\\+00:00$`);

// Each gives the instant, or null where the text has not the form or names no real time.
export const secondsInstant = (text) => instantBy(SECONDS, text);
export const receiptInstant = (text) => instantBy(RECEIPT, text);
export const recordInstant = (text) => instantBy(RECORD, text);

export const asReceiptTime = (instant) => `${instant}Z`;
export const asRecordTime = (instant) => `${instant}+00:00`;

/** §4 and §6: a reading that is earlier than the one before is raised to it. */
export function raiseReadings(instants, atLeast = '') {
  let latest = atLeast;
  return instants.map((instant) => {
    if (instant > latest) latest = instant;
    return latest;
  });
}

/** `submitted_at` (§2): whole seconds in the years 1900 to 2099. */
export const isSubmissionTime = (text) => secondsInstant(text) !== null && text >= '1900' && text < '2100';
