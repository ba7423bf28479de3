/* Dates and times in 64 bits: civil dates, weeks, Easter, leap seconds' kin, the C library's own. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct {
    int64_t year;
    int month, day;
} date;

static int64_t days_from(date d) { /* since 1970-01-01 */
    d.year -= d.month <= 2;
    int64_t era = (d.year >= 0 ? d.year : d.year - 399) / 400;
    int64_t of_era = d.year - era * 400;
    int64_t of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static date from_days(int64_t z) {
    z += 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097, day = z - era * 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100), shifted = (5 * of_year + 2) / 153;
    date d = {year + era * 400, (int)(shifted < 10 ? shifted + 3 : shifted - 9),
              (int)(of_year - (153 * shifted + 2) / 5 + 1)};
    d.year += d.month <= 2;
    return d;
}

static int weekday(int64_t days) { return (int)(days >= -4 ? (days + 4) % 7 : (days + 5) % 7 + 6); }

static void print_seconds(int64_t seconds) {
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) rest += 86400, days--;
    date d = from_days(days);
    static const char *const names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    printf("%20" PRId64 " %s %04" PRId64 "-%02d-%02dT%02d:%02d:%02dZ\n", seconds, names[weekday(days)], d.year, d.month, d.day,
           (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
}

static date easter(int year) {
    int a = year % 19, b = year / 100, c = year % 100;
    int h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
    int l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7, m = (a + 11 * h + 22 * l) / 451;
    return (date){year, (h + l - 7 * m + 114) / 31, (h + l - 7 * m + 114) % 31 + 1};
}

static int iso_week(date d, int64_t *year) {
    int64_t days = days_from(d), thursday = days + 3 - (weekday(days) + 6) % 7;
    date t = from_days(thursday);
    *year = t.year;
    return (int)((thursday - days_from((date){t.year, 1, 1})) / 7 + 1);
}

static void month(int64_t year, int m) {
    int64_t first = days_from((date){year, m, 1});
    int64_t count = days_from((date){m == 12 ? year + 1 : year, m % 12 + 1, 1}) - first;
    printf("%*s", 3 * weekday(first), "");
    for (int day = 1; day <= count; day++)
        printf("%2d%c", day, weekday(first + day - 1) == 6 || day == count ? '\n' : ' ');
}

static int64_t duration(const char *text) { /* ISO 8601, in seconds: P1DT2H3M4S */
    int64_t total = 0, number = 0;
    int in_time = 0;
    for (text++; *text; text++) {
        if (*text >= '0' && *text <= '9') {
            number = number * 10 + (*text - '0');
            continue;
        }
        if (*text == 'T') in_time = 1;
        int64_t unit = *text == 'W' ? 604800 : *text == 'D' ? 86400 : *text == 'H' ? 3600 : *text == 'S' ? 1 : in_time ? 60 : 2629746;
        total += number * unit;
        number = 0;
    }
    return total;
}

int main(void) {
    static const int64_t moments[] = {0, -1, 951782399, 1000000000, 2147483648, 4102444800, -62135596800, 253402300800, 67767976233532799};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) print_seconds(moments[i]);
    int wrong = 0;
    for (int64_t day = -800000; day < 800000; day += 9973) wrong += days_from(from_days(day)) != day;
    printf("%d wrong\n", wrong);
    for (int year = 2024; year < 2028; year++) {
        date d = easter(year);
        int64_t of;
        int week = iso_week((date){year, 12, 30}, &of);
        printf("easter %d-%02d-%02d, the 30th of December in week %" PRId64 "-W%02d\n", (int)d.year, d.month, d.day, of, week);
    }
    month(2024, 2);
    printf("%" PRId64 " %" PRId64 "\n", duration("P1DT2H3M4S"), duration("P100W2M"));
    struct tm parts;
    time_t now = 1234567890;
    char text[64];
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%A, %d %B %Y %H:%M:%S (%j, %U)", &parts);
    puts(text);
    parts.tm_mday += 40, parts.tm_hour -= 30;
    printf("%lld\n", (long long)timegm(&parts));
    return 0;
}
