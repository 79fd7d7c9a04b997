"""Turns small headers into Markdown with tools/docs_site/header_reference.py and compares every line."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs_site"))
import header_reference

CXX = """\
// What the file is for.
#pragma once

#include <string>

namespace sing {

class Forward;

// A point
// of the plane.
struct Point {
  double x = 0;  // metres
  double y = 0;

  static constexpr std::string_view kName = "point";
  static constexpr auto fields() {
    return std::tuple{field("x", &Point::x, "metres")};
  }
  // The distance to 0.
  double norm() const { return std::hypot(x, y); }
};

class Counter final {
 public:
  // Counts from `first`.
  explicit Counter(int first) : count_(first) {}

  // One more.
  void add();
  int count() const { return count_; }

 private:
  int count_;
};

// The default.
inline constexpr int kCount = 3;

}  // namespace sing
"""
CXX_SHOWN = """\
### `Point`

A point
of the plane.

```cpp
struct Point {
  double x = 0;  // metres
  double y = 0;

  // The distance to 0.
  double norm() const;
};
```

### `Counter`

#### `Counter`

Counts from `first`.

```cpp
explicit Counter(int first);
```

#### `add`

One more.

```cpp
void add();
int count() const;
```

### `kCount`

The default.

```cpp
inline constexpr int kCount = 3;
```
"""
C = """\
/* What the file is for,
 * on two lines.
 */
#ifndef SING_C_API_SING_H
#define SING_C_API_SING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds. */
typedef int32_t kind;
enum {
  FIRST = 0, /* the first */
  SECOND = 1
};

/* Called with
 * a context. */
typedef void (*callback)(void* context);

kind kind_of(const char* name,
             size_t length);

#ifdef __cplusplus
}
#endif

#endif
"""
C_SHOWN = """\
### `kind`

Kinds.

```c
typedef int32_t kind;
enum {
  FIRST = 0, /* the first */
  SECOND = 1
};
```

### `callback`

Called with
a context.

```c
typedef void (*callback)(void* context);
```

### `kind_of`

```c
kind kind_of(const char* name,
             size_t length);
```
"""


class HeaderReference(unittest.TestCase):
    maxDiff = None

    def test_a_cxx_header(self):
        self.assertEqual(header_reference.markdown(CXX, "cpp"), CXX_SHOWN)

    def test_a_c_header(self):
        self.assertEqual(header_reference.markdown(C, "c"), C_SHOWN)

    def test_named_entries_alone(self):
        shown = header_reference.markdown(CXX, "cpp", ["kCount"])
        self.assertEqual(shown, CXX_SHOWN[CXX_SHOWN.index("### `kCount`") :])

    def test_a_name_that_the_header_lacks_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "wanted a declaration of Line, Plane, got none"):
            header_reference.markdown(CXX, "cpp", ["Plane", "kCount", "Line"])


if __name__ == "__main__":
    unittest.main()
