// Marks what belongs to the library's binary interface. Everything else is hidden.
#pragma once

#define POSENC_API __attribute__((visibility("default")))
