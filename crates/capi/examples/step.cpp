// The same in C++: step PROGRAM FILE.

#include "fluvial.hpp"

#include <cstdio>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    try {
        fluvial::program program(argv[1]);
        program.feed<double>("x", {1, 0, 0, 1, 1, 1}, {3, 2});
        program.feed<double>("y", {1, 3, 4}, {3, 1});
        for (int step = 0; step < 400; step++) program.run();
        const double loss = program.output<double>("loss")[0];
        program.save_states(argv[2]);
        fluvial::program again(argv[1]);
        again.load_states(argv[2]);
        const std::vector<double> found = again.state<double>("w");
        std::printf("loss %.4f w %.2f %.2f\n", loss, found[0], found[1]);
        try {
            again.run();
            return 3;
        } catch (const fluvial::error &) {
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
