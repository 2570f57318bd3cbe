from prototxt.errors import Fault, PrototxtError, did_you_mean, nearest


def test_one_fault_is_shown_with_its_line_and_a_caret():
    fault = Fault("unknown field 'x'", 3, 5, "    x: 1", 4)
    assert str(PrototxtError(fault, "net.prototxt")) == (
        "net.prototxt:3:5: unknown field 'x'\n      x: 1\n      ^"
    )


def test_a_tab_before_the_fault_stays_a_tab_under_the_line():
    fault = Fault("bad", 1, 2, "\tx: 1", 1)
    assert str(PrototxtError(fault, "f")).splitlines()[-1] == "  \t^"


def test_several_faults_are_all_listed():
    faults = [Fault("first", 1, 1), Fault("second", 2, 7)]
    assert str(PrototxtError(faults, "f")) == (
        "f: 2 faults\n  f:1:1: first\n  f:2:7: second"
    )


def test_faults_of_one_wording_are_listed_once_with_their_lines():
    faults = [Fault("no name", 1, 1), *(Fault("no layer", n, 3) for n in range(2, 10))]
    assert str(PrototxtError(faults, "f")) == (
        "f: 9 faults\n  f:1:1: no name\n"
        "  f:2:3: no layer (also in line 3, 4, 5, 6, 7 and 2 more)"
    )


def test_the_first_fault_gives_line_and_column():
    error = PrototxtError([Fault("first", 4, 2), Fault("second", 5, 1)], "f")
    assert (error.line, error.column, error.path) == (4, 2, "f")


def test_a_fault_in_a_binary_file_has_its_offset():
    assert str(PrototxtError("cut off", "w.caffemodel", 12)) == (
        "w.caffemodel, byte 12: cut off"
    )


def test_the_nearest_name_is_found_whatever_its_case():
    assert nearest("Relu_Param", ["relu_param", "lrn_param"]) == "relu_param"
    assert nearest("something", ["relu_param"]) is None


def test_nothing_is_offered_where_nothing_is_near():
    assert did_you_mean("zzz", ["conv"]) == ""
