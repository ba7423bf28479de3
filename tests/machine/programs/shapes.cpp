// Classes with virtual functions, several bases, operators, lambdas, static objects and their order.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

struct Announced {
    const char* name;
    explicit Announced(const char* n) : name(n) { std::printf("begin %s\n", name); }
    ~Announced() { std::printf("end %s\n", name); }
};
static Announced global("global");

class Shape {
  public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual const char* name() const { return "shape"; }
    bool larger_than(const Shape& other) const { return area() > other.area(); }
};

class Named {
  public:
    explicit Named(const char* text) { std::strncpy(label, text, sizeof label - 1); }
    virtual void greet() const { std::printf("I am %s", label); }
    virtual ~Named() = default;

  protected:
    char label[12] = {};
};

class Circle final : public Shape {
    double radius;

  public:
    explicit Circle(double r) : radius(r) {}
    double area() const override { return 3.141592653589793 * radius * radius; }
    const char* name() const override { return "circle"; }
};

class Square : public Shape, public Named {
    double side;

  public:
    explicit Square(double s) : Named("square"), side(s) {}
    double area() const override { return side * side; }
    const char* name() const override { return label; }
    void greet() const override {
        Named::greet();
        std::printf(" of side %g\n", side);
    }
};

struct Quaternion {
    double w, x, y, z;
    Quaternion operator*(const Quaternion& q) const {
        return {w * q.w - x * q.x - y * q.y - z * q.z, w * q.x + x * q.w + y * q.z - z * q.y,
                w * q.y - x * q.z + y * q.w + z * q.x, w * q.z + x * q.y - y * q.x + z * q.w};
    }
    Quaternion conjugate() const { return {w, -x, -y, -z}; }
    friend bool operator==(const Quaternion& a, const Quaternion& b) {
        return a.w == b.w && a.x == b.x && a.y == b.y && a.z == b.z;
    }
};

class Modular {
    std::uint64_t value;

  public:
    static constexpr std::uint64_t modulus = 1000000007;
    Modular(std::uint64_t v = 0) : value(v % modulus) {}
    Modular operator+(Modular o) const { return value + o.value; }
    Modular operator*(Modular o) const { return value * o.value; }
    Modular& operator++() { return *this = *this + 1; }
    Modular operator++(int) {
        Modular old = *this;
        ++*this;
        return old;
    }
    explicit operator unsigned long long() const { return value; }
    Modular power(std::uint64_t e) const { return e == 0 ? Modular(1) : (e & 1 ? *this : Modular(1)) * (*this * *this).power(e / 2); }
};

static std::function<int()> counter(int start, int step) {
    return [start, step]() mutable { return start += step; };
}

static int once() {
    static Announced local("local");
    static int calls = 0;
    return ++calls;
}

int main() {
    std::unique_ptr<Shape> shapes[] = {std::make_unique<Circle>(1.5), std::make_unique<Square>(2.5),
                                       std::make_unique<Circle>(0.25), std::make_unique<Square>(-3)};
    const Shape* best = shapes[0].get();
    double total = 0;
    for (auto& shape : shapes) {
        total += shape->area();
        if (shape->larger_than(*best)) best = shape.get();
        std::printf("%s %.6f\n", shape->name(), shape->area());
    }
    std::printf("total %.6f, largest %s\n", total, best->name());
    static_cast<const Square*>(best)->greet();
    const Named* other = static_cast<const Square*>(best);
    other->greet();

    Quaternion q{0.5, 0.5, 0.5, 0.5}, v{0, 1, 2, 3}, turned = q * v * q.conjugate();
    std::printf("%g %g %g %g %d\n", turned.w, turned.x, turned.y, turned.z, q * q * q == Quaternion{-1, 0, 0, 0});

    Modular m = 123456789;
    auto before = m++;
    std::printf("%llu %llu\n", static_cast<unsigned long long>(m.power(1000000)), static_cast<unsigned long long>(before * 9));
    auto next = counter(10, -3), from = counter(0, 5);
    next(), next();
    std::printf("%d %d %d\n", next(), from(), once() + once());
    int Shape::*none = nullptr;
    double (Shape::*method)() const = &Shape::area;
    std::printf("%d %.2f\n", none == nullptr, (shapes[1].get()->*method)());
    return 5;
}
