// Templates without exceptions or the standard library's containers: vectors, maps, fractions at compile time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

template <typename T>
class Vector {
  public:
    Vector() = default;
    Vector(Vector&& other) noexcept : items(other.items), count(other.count), room(other.room) {
        other.items = nullptr;
        other.count = other.room = 0;
    }
    Vector(const Vector&) = delete;
    Vector& operator=(const Vector&) = delete;
    ~Vector() {
        for (std::size_t i = 0; i < count; i++) items[i].~T();
        std::free(items);
    }

    template <typename... Arguments>
    T& emplace(Arguments&&... arguments) {
        if (count == room) grow();
        return *new (&items[count++]) T(std::forward<Arguments>(arguments)...);
    }
    T& operator[](std::size_t i) { return items[i]; }
    const T& operator[](std::size_t i) const { return items[i]; }
    std::size_t size() const { return count; }
    T* begin() { return items; }
    T* end() { return items + count; }
    const T* begin() const { return items; }
    const T* end() const { return items + count; }

  private:
    void grow() {
        std::size_t more = room ? 2 * room : 4;
        T* moved = static_cast<T*>(std::malloc(more * sizeof(T)));
        for (std::size_t i = 0; i < count; i++) {
            new (&moved[i]) T(std::move(items[i]));
            items[i].~T();
        }
        std::free(items);
        items = moved;
        room = more;
    }
    T* items = nullptr;
    std::size_t count = 0, room = 0;
};

template <typename K, typename V, unsigned Buckets = 16>
class Map {
    struct Entry {
        K key;
        V value;
        Entry(const K& k, const V& v) : key(k), value(v) {}
    };
    Vector<Entry> buckets[Buckets];

    static std::uint64_t hash(std::uint64_t x) {
        x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ULL;
        return x ^ (x >> 27);
    }

  public:
    V& operator[](const K& key) {
        auto& bucket = buckets[hash(static_cast<std::uint64_t>(key)) % Buckets];
        for (auto& entry : bucket)
            if (entry.key == key) return entry.value;
        return bucket.emplace(key, V{}).value;
    }
    template <typename F>
    void each(F f) const {
        for (auto& bucket : buckets)
            for (auto& entry : bucket) f(entry.key, entry.value);
    }
};

template <typename Iterator, typename Less>
void sort(Iterator first, Iterator last, Less less) {
    if (last - first < 2) return;
    auto pivot = first[(last - first) / 2];
    Iterator i = first, j = last - 1;
    while (i <= j) {
        while (less(*i, pivot)) ++i;
        while (less(pivot, *j)) --j;
        if (i <= j) std::swap(*i++, *j--);
    }
    sort(first, j + 1, less);
    sort(i, last, less);
}

template <std::int64_t N, std::int64_t D>
struct Ratio {
    static constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) { return b ? gcd(b, a % b) : a; }
    static constexpr std::int64_t divisor = gcd(N, D), numerator = N / divisor, denominator = D / divisor;
};
template <typename A, typename B>
using Sum = Ratio<A::numerator * B::denominator + B::numerator * A::denominator, A::denominator * B::denominator>;
template <int N>
struct Harmonic {
    using type = Sum<typename Harmonic<N - 1>::type, Ratio<1, N>>;
};
template <>
struct Harmonic<1> {
    using type = Ratio<1, 1>;
};

template <typename T>
constexpr const char* kind() {
    if constexpr (std::is_floating_point_v<T>)
        return "float";
    else if constexpr (std::is_signed_v<T>)
        return "signed";
    else
        return "unsigned";
}

template <typename... T>
constexpr auto sum(T... x) {
    return (x + ...);
}

constexpr std::uint32_t fnv(const char* s) {
    std::uint32_t h = 2166136261u;
    while (*s) h = (h ^ static_cast<unsigned char>(*s++)) * 16777619u;
    return h;
}

struct Counted {
    static int alive;
    int value;
    explicit Counted(int v) : value(v) { alive++; }
    Counted(Counted&& other) noexcept : value(other.value) { alive++; }
    ~Counted() { alive--; }
};
int Counted::alive = 0;

int main() {
    Vector<std::int64_t> numbers;
    for (std::int64_t i = 1; i <= 20; i++) numbers.emplace(i * i * 7919 % 10007 - 5000);
    sort(numbers.begin(), numbers.end(), [](auto a, auto b) { return a < b; });
    for (auto n : numbers) std::printf("%lld ", static_cast<long long>(n));
    Map<std::int64_t, int> tally;
    for (auto n : numbers) tally[n / 1000]++;
    int largest = 0, keys = 0;
    tally.each([&](auto, int count) { keys++, largest = count > largest ? count : largest; });
    std::printf("\n%d keys, at most %d\n", keys, largest);
    {
        Vector<Vector<Counted>> nested;
        for (int i = 0; i < 6; i++) {
            auto& row = nested.emplace();
            for (int k = 0; k <= i; k++) row.emplace(i * k);
        }
        std::printf("%d alive, last %d\n", Counted::alive, nested[5][5].value);
    }
    std::printf("%d alive\n", Counted::alive);
    using H = Harmonic<20>::type;
    std::printf("%lld/%lld\n", static_cast<long long>(H::numerator), static_cast<long long>(H::denominator));
    std::printf("%s %s %s %.2f\n", kind<float>(), kind<int>(), kind<std::uint8_t>(), sum(1, 2.5, 3u, 4LL));
    static_assert(fnv("a") == 0xe40c292c);
    std::printf("%08x\n", fnv("templates"));
    return 0;
}
