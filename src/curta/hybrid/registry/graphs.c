/* Roads, networks and who does what: the shortest way between two places, the cheapest assignment
 * of tasks to workers. */

enum { PLACES = 4096, WORKERS = 256 };

static double far[PLACES];
static int from_place[PLACES], done[PLACES];

/* The shortest way from a start to a goal by roads that lead both ways; places are numbers. Nothing
 * is the way if there is none.
 * @param one where each road begins
 * @param other where it ends
 * @param lengths how long it is, not negative */
int shortest_path(const int *one, const int *other, const double *lengths, int roads, int start,
                  int goal, int *out_places, int room, double *out_length) {
    if (start < 0 || start >= PLACES || goal < 0 || goal >= PLACES) __builtin_trap();
    for (int place = 0; place < PLACES; place++) {
        far[place] = place == start ? 0 : __builtin_inf();
        from_place[place] = done[place] = 0;
    }
    for (;;) {
        int nearest = -1;
        for (int place = 0; place < PLACES; place++)
            if (!done[place] && far[place] < __builtin_inf() &&
                (nearest < 0 || far[place] < far[nearest]))
                nearest = place;
        if (nearest < 0 || nearest == goal) break;
        done[nearest] = 1;
        for (int road = 0; road < roads; road++) {
            if (one[road] < 0 || one[road] >= PLACES || other[road] < 0 || other[road] >= PLACES ||
                !(lengths[road] >= 0))
                __builtin_trap();
            if (one[road] != nearest && other[road] != nearest) continue;
            int next = one[road] == nearest ? other[road] : one[road];
            double length = far[nearest] + lengths[road];
            if (length >= far[next]) continue;
            far[next] = length;
            from_place[next] = nearest;
        }
    }
    *out_length = -1;
    if (far[goal] == __builtin_inf()) return 0;
    *out_length = far[goal];
    int count = 1;
    for (int place = goal; place != start; place = from_place[place]) count++;
    if (count > room) __builtin_trap();
    for (int place = goal, at = count; at; place = from_place[place]) out_places[--at] = place;
    return count;
}

/* The cheapest way to give every worker another task: the task of each, and what all cost together.
 * @param costs of each worker for each task, row by row: a square of whole numbers */
int cheapest_assignment(const int *costs, int cells, int *out_tasks, int room,
                        long long *out_total) {
    static long long row_price[WORKERS + 1], column_price[WORKERS + 1], least[WORKERS + 1];
    static int row_of[WORKERS + 1], way[WORKERS + 1], seen[WORKERS + 1];
    int size = 0;
    while (size * size < cells) size++;
    if (size * size != cells || size > WORKERS || size > room) __builtin_trap();
    for (int at = 0; at <= size; at++) row_price[at] = column_price[at] = row_of[at] = 0;
    for (int row = 1; row <= size; row++) {
        int column = 0;
        row_of[0] = row;
        for (int at = 0; at <= size; at++) {
            least[at] = 1ll << 60;
            seen[at] = 0;
        }
        do { /* the nearest column, until a free one is found */
            int current = row_of[column], next = 0;
            long long step = 1ll << 60;
            seen[column] = 1;
            for (int at = 1; at <= size; at++) {
                if (seen[at]) continue;
                long long cost = costs[(current - 1) * size + at - 1] - row_price[current];
                cost -= column_price[at];
                if (cost < least[at]) {
                    least[at] = cost;
                    way[at] = column;
                }
                if (least[at] < step) {
                    step = least[at];
                    next = at;
                }
            }
            for (int at = 0; at <= size; at++) {
                if (seen[at]) {
                    row_price[row_of[at]] += step;
                    column_price[at] -= step;
                } else {
                    least[at] -= step;
                }
            }
            column = next;
        } while (row_of[column]);
        for (; column; column = way[column]) row_of[column] = row_of[way[column]];
    }
    *out_total = 0;
    for (int column = 1; column <= size; column++) {
        out_tasks[row_of[column] - 1] = column - 1;
        *out_total += costs[(row_of[column] - 1) * size + column - 1];
    }
    return size;
}
