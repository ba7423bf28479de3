/* Days of the calendar: weekdays, days between two dates, a date some days later. Dates are texts,
 * year-month-day as in 2024-02-29; the Gregorian calendar holds throughout. */
#include <stdlib.h>

static int days_in(int year, int month) {
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static int number(const char **text, int digits) {
    int value = 0;
    for (; digits; digits--, (*text)++) {
        if (**text < '0' || **text > '9') abort();
        value = value * 10 + **text - '0';
    }
    return value;
}

/* Days since 0000-03-01: years begin in March, so that a leap day is the last one. */
static int day_of(const char *text) {
    int year = number(&text, 4);
    if (*text++ != '-') abort();
    int month = number(&text, 2);
    if (*text++ != '-') abort();
    int day = number(&text, 2);
    if (*text || month < 1 || month > 12 || day < 1 || day > days_in(year, month)) abort();
    int from_march = (month + 9) % 12;
    year -= month < 3;
    int leaps = year >= 0 ? year / 4 - year / 100 + year / 400 : -1;
    return 365 * year + leaps + (306 * from_march + 5) / 10 + day - 1;
}

/* The day of the week of a date, such as 2024-02-29. */
const char *weekday(const char *date) {
    static const char *const names[] = {"Wednesday", "Thursday", "Friday", "Saturday",
                                        "Sunday",    "Monday",   "Tuesday"};
    return names[(day_of(date) + 7 * 60) % 7];
}

/* How many days it is from one date to another; negative if the second one is earlier. */
int days_between(const char *first, const char *second) {
    return day_of(second) - day_of(first);
}

/* The date so many days after a date, or before it if they are negative. */
const char *days_later(const char *date, int days) {
    static char said[] = "0000-00-00";
    int year = 0, month = 1, left = day_of(date) - day_of("0000-01-01") + days;
    if (left < 0 || left >= 3652425) __builtin_trap(); /* years have four digits */
    for (int length = 366; left >= length; length = 337 + days_in(year, 2)) {
        left -= length;
        year++;
    }
    for (; left >= days_in(year, month); month++) left -= days_in(year, month);
    for (int at = 3; at >= 0; at--, year /= 10) said[at] = (char)('0' + year % 10);
    said[5] = (char)('0' + month / 10);
    said[6] = (char)('0' + month % 10);
    said[8] = (char)('0' + (left + 1) / 10);
    said[9] = (char)('0' + (left + 1) % 10);
    return said;
}

/* The number of days in a month of a year. */
int days_in_month(int year, int month) {
    if (month < 1 || month > 12) __builtin_trap();
    return days_in(year, month);
}
