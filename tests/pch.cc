// Gives the precompiled header a home: main.cc cannot use it, BOOST_TEST_MODULE must come first.
