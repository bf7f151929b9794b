// The C interface as C++: programs that free themselves, errors that are thrown.

#ifndef FLUVIAL_HPP
#define FLUVIAL_HPP

#include "fluvial.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace fluvial {

class error : public std::runtime_error {
public:
    error() : std::runtime_error(fluvial_error()) {}
};

template <class T> constexpr int32_t dtype_of() {
    static_assert(std::is_same<T, float>::value || std::is_same<T, double>::value || std::is_same<T, int32_t>::value ||
                      std::is_same<T, int64_t>::value || std::is_same<T, uint8_t>::value || std::is_same<T, int8_t>::value,
                  "no element type of Fluvial");
    return std::is_same<T, float>::value     ? FLUVIAL_F32
           : std::is_same<T, double>::value  ? FLUVIAL_F64
           : std::is_same<T, int32_t>::value ? FLUVIAL_I32
           : std::is_same<T, int64_t>::value ? FLUVIAL_I64
           : std::is_same<T, int8_t>::value  ? FLUVIAL_I8
                                             : FLUVIAL_U8;
}

// A program with its states.
class program {
public:
    explicit program(const std::string &path) : held(fluvial_load(path.c_str()), fluvial_free) {
        if (!held) throw error();
    }

    template <class T> void feed(const std::string &name, const std::vector<T> &values, const std::vector<int64_t> &sizes) {
        fluvial_view view = view_of(values, sizes);
        check(fluvial_feed(held.get(), name.c_str(), &view));
    }

    void run() { check(fluvial_run(held.get())); }

    template <class T> std::vector<T> output(const std::string &name) const {
        fluvial_view view;
        check(fluvial_output(held.get(), name.c_str(), &view));
        return values_of<T>(view);
    }

    template <class T> std::vector<T> state(const std::string &name) const {
        fluvial_view view;
        check(fluvial_state(held.get(), name.c_str(), &view));
        return values_of<T>(view);
    }

    template <class T> void set_state(const std::string &name, const std::vector<T> &values, const std::vector<int64_t> &sizes) {
        fluvial_view view = view_of(values, sizes);
        check(fluvial_set_state(held.get(), name.c_str(), &view));
    }

    void save_states(const std::string &path) const { check(fluvial_save_states(held.get(), path.c_str())); }
    void load_states(const std::string &path) { check(fluvial_load_states(held.get(), path.c_str())); }

private:
    std::unique_ptr<fluvial_program, void (*)(fluvial_program *)> held;

    static void check(int32_t status) {
        if (status != 0) throw error();
    }

    template <class T> static fluvial_view view_of(const std::vector<T> &values, const std::vector<int64_t> &sizes) {
        fluvial_view view = {};
        size_t count = 1;
        if (sizes.size() > FLUVIAL_MAX_AXES) throw std::invalid_argument("too many axes");
        for (size_t axis = 0; axis < sizes.size(); axis++) {
            view.dims[axis] = sizes[axis];
            count *= static_cast<size_t>(sizes[axis]);
        }
        if (count != values.size()) throw std::invalid_argument("the sizes do not fit the number of elements");
        view.dtype = dtype_of<T>();
        view.rank = static_cast<int32_t>(sizes.size());
        view.data = values.data();
        return view;
    }

    template <class T> static std::vector<T> values_of(const fluvial_view &view) {
        if (view.dtype != dtype_of<T>()) throw std::invalid_argument("the elements are of another type");
        size_t count = 1;
        for (int32_t axis = 0; axis < view.rank; axis++) count *= static_cast<size_t>(view.dims[axis]);
        const T *first = static_cast<const T *>(view.data);
        return std::vector<T>(first, first + count);
    }
};

} // namespace fluvial

#endif
