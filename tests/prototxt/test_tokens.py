import pytest

from prototxt.tokens import BROKEN, END, NUMBER, STRING, WORD, tokenize


def kinds(text):
    return [(token.kind, token.text) for token in tokenize(text)][:-1]


def test_words_numbers_strings_and_marks_are_told_apart():
    assert kinds("a: -1.5e-3f \"s\" 't' {") == [
        (WORD, "a"),
        (":", ":"),
        ("-", "-"),
        (NUMBER, "1.5e-3f"),
        (STRING, '"s"'),
        (STRING, "'t'"),
        ("{", "{"),
    ]


def test_comments_end_with_their_line():
    assert kinds('a # b: "c\nd') == [(WORD, "a"), (WORD, "d")]


def test_a_quote_is_part_of_a_string_after_a_backslash():
    assert kinds(r'"a\"b" c') == [(STRING, r'"a\"b"'), (WORD, "c")]


def test_a_string_does_not_go_over_the_end_of_a_line():
    assert kinds('"open\nb') == [(BROKEN, '"open'), (WORD, "b")]


def test_what_is_glued_to_a_number_is_part_of_it():
    assert kinds("3x 1.2.3") == [(NUMBER, "3x"), (NUMBER, "1.2.3")]


@pytest.mark.parametrize("text", ["", " \n\t", "# only a comment", "a   "])
def test_the_last_token_is_the_end(text):
    assert [t.kind for t in tokenize(text)].count(END) == 1
    assert tokenize(text)[-1].kind == END


def test_many_blanks_at_the_end_cost_nothing():
    assert kinds("a" + " " * 200_000) == [(WORD, "a")]
