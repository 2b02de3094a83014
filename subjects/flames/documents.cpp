/* A C++ program as they are, to be drawn: a JSON library full of templates, virtual calls, inlined functions, recursion.
 * Needs nlohmann-json3-dev.
 *
 *     g++ -O2 -g -fno-omit-frame-pointer -o documents documents.cpp && ./documents 60
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using nlohmann::json;

namespace report {

struct Visitor {
    virtual ~Visitor() = default;
    virtual void text(const std::string &key, const std::string &value) = 0;
    virtual void number(const std::string &key, double value) = 0;
};

/* How often each word occurs. */
struct Words final : Visitor {
    std::map<std::string, int> seen;
    void text(const std::string &, const std::string &value) override {
        size_t start = 0;
        for (size_t end; (end = value.find(' ', start)) != std::string::npos; start = end + 1)
            seen[value.substr(start, end - start)]++;
        seen[value.substr(start)]++;
    }
    void number(const std::string &, double) override {}
};

/* The median of each number. */
struct Medians final : Visitor {
    std::map<std::string, std::vector<double>> values;
    void text(const std::string &, const std::string &) override {}
    void number(const std::string &key, double value) override { values[key].push_back(value); }
    double sum() {
        double sum = 0;
        for (auto &[key, all] : values) {
            std::sort(all.begin(), all.end(), [](double a, double b) { return a < b; });
            sum += all[all.size() / 2];
        }
        return sum;
    }
};

void walk(const json &node, const std::string &key, Visitor &visitor) {
    if (node.is_object())
        for (auto &[name, child] : node.items()) walk(child, name, visitor);
    else if (node.is_array())
        for (auto &child : node) walk(child, key, visitor);
    else if (node.is_string())
        visitor.text(key, node.get_ref<const std::string &>());
    else if (node.is_number())
        visitor.number(key, node.get<double>());
}

json made_up(int orders) {
    uint64_t state = 88172645463325252u;
    auto next = [&] { return state ^= state << 13, state ^= state >> 7, state ^= state << 17, state; };
    const char *words[] = {"brake", "engine", "shaft", "lever", "pulley", "flywheel", "governor", "valve"};
    json all = json::array();
    for (int i = 0; i < orders; i++) {
        std::string note;
        for (int word = 0; word < 8; word++) note += std::string(word ? " " : "") + words[next() % 8];
        all.push_back({{"id", i}, {"price", double(next() % 100000) / 100}, {"note", note}, {"lines", {next() % 9, next() % 9}}});
    }
    return all;
}

} // namespace report

int main(int argc, char **argv) {
    const std::string text = report::made_up(5000).dump();
    double sum = 0;
    for (int round = argc > 1 ? atoi(argv[1]) : 60; round > 0; round--) {
        const json all = json::parse(text);
        std::vector<std::unique_ptr<report::Visitor>> visitors;
        visitors.push_back(std::make_unique<report::Words>());
        visitors.push_back(std::make_unique<report::Medians>());
        for (auto &visitor : visitors) report::walk(all, "", *visitor);
        sum += static_cast<report::Medians &>(*visitors[1]).sum();
    }
    printf("%f\n", sum);
}
