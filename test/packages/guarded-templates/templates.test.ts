import { describe, expect, it } from 'vitest';
import { checkTemplate, renderTemplate, type TemplateProblem } from '@pith/guarded-templates';

const VALUES = { user: 'Ada', agent: { id: 'a', name: 'Bo' }, skills: { review: 'R' }, none_yet: {} };
const check = (text: string) => checkTemplate(text, VALUES, ['skills']);
const render = (text: string) => renderTemplate(text, VALUES, ['skills']);

/** What is wrong, whether it is found before or while rendering. */
async function problemOf(text: string): Promise<TemplateProblem | undefined> {
  const [found] = await check(text);
  return found ?? (await render(text).then(() => undefined, (error: TemplateProblem) => error)); // prettier-ignore
}

describe('what templates print', () => {
  it.each([
    // variables and literals
    ['{{ user }} {{ agent.name }} {{ agent["id"] }} {{ skills.review }}', 'Ada Bo a R'],
    ['{{ true }} {{ True }} {{ False }} {{ none }} {{ None }} {{ 1.5 }}', 'true true false none none 1.5'],
    ['{{ [1, "a", None] }} {{ (1, 2) }} {{ {a: 1, "b c": [true]} }}', '[1,"a",null] [1,2] {"a":1,"b c":[true]}'],
    // text around
    ['a {# c #}b\n{%- if true %} c{% endif -%}\n d', 'a b cd'],
    ['{% raw %}{{ user }}{% endraw %}', '{{ user }}'],
    ['{%- raw -%} a{% raw %}{#{% endraw %}{% if %}\n{% endraw %}{{ user }}', ' a{% raw %}{#{% endraw %}{% if %}\nAda'],
    ['{% verbatim %}{% endraw %}{% endverbatim %}b', '{% endraw %}b'],
    ['{% filter upper %}x{{ user }}{% endfilter %}', 'XADA'],
    // conditions
    ['{% if false %}1{% elif user == "Ada" %}2{% else %}3{% endif %}', '2'],
    ['{% if [] or {} or "" or 0 or none or none_yet %}1{% else %}2{% endif %}{{ "x" if [0] }}{{ "y" if [] }}', '2x'],
    ['{{ "x" if user in ["Ada"] and "d" in user and "id" in agent and "e" not in user and not false else "y" }}', 'x'],
    ['{% if missing is defined %}{{ missing }}{% else %}-{% endif %}{{ missing is not defined }}{{ agent.x is undefined }}', '-truetrue'],
    ['{{ none is none }}{{ 3 is odd }}{{ 3 is even }}{{ agent is mapping }}{{ user is string }}{{ 1 is number }}', 'truetruefalsetruetruetrue'],
    ['{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ "b" > "a" }}{{ 2 >= 2 }}{{ 1 != 2 }}{{ "1" == 1 }}{{ none == false }}', 'truefalsetruetruetruetruefalse'],
    ['{{ user or "x" }}{{ "" or "x" }}{{ user and "y" }}', 'Adaxy'],
    // sums
    ['{{ 7 // 2 }} {{ 2 ** 3 }} {{ 7 % 4 }} {{ 1 + 2 * 3 }} {{ -1 }} {{ 1 / 4 }} {{ "a" ~ 1 ~ none }} {{ "a" + "b" }}', '3 8 3 7 -1 0.25 a1none ab'],
    ['{{ ([1] + [2])[-1] }}{{ "abc"[0] }}{{ [1, 2].length }}', '2a2'],
    // loops
    ['{% for x in ["a", "b"] %}{{ loop.index }}/{{ loop.length }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}', '1/2a, 2/2b'],
    ['{% for x in [1, 2, 3, 4] if x is even %}{{ loop.index0 }}:{{ x }}{{ loop.first }}{{ loop.revindex }} {% endfor %}', '0:2true2 1:4false1 '],
    ['{% set x = 9 %}{% for x in [1] if x > 1 %}{% else %}{{ x }}{% endfor %}', '9'],
    ['{% for x in ([] if true else [1]) %}{{ x }}{% else %}empty{% endfor %}', 'empty'],
    ['{% for k, v in agent %}{{ k }}={{ v }};{% endfor %}{% for k, v in agent.items() %}{{ v }}{% endfor %}{% for k in agent %}{{ k }}{% endfor %}', 'id=a;name=Bo;aBoidname'],
    ['{% for a, b in [[1, 2], [3, 4]] %}{{ b }}{% endfor %}{% for c in "hé" %}{{ c }}.{% endfor %}{% for i in range(1, 4) %}{{ i }}{% endfor %}', '24h.é.123'],
    ['{% for x in [1] %}{% for x in [2] %}{% endfor %}{{ x }}{{ loop.index }}{% endfor %}', '11'],
    // set
    ['{% set a = 1 %}{% for i in [5] %}{% set a = a + i %}{% endfor %}{{ a }}{% set b %}<{{ a }}>{% endset %}{{ b }}', '6<6>'],
    ['{% set a = [] %}{% for k in agent %}{% set a = a + [k] %}{% endfor %}{{ a | join("+") }}', 'id+name'],
    // filters
    ['{{ user | upper }}{{ user | lower }}{{ "a b-c D" | title }}{{ "aB" | capitalize }}{{ " x " | trim }}', 'ADAadaA B-C DAbx'],
    ['{{ "a.b.c" | replace(".", "$&") }} {{ "aaa" | replace("a", "b", 2) }}', 'a$&b$&c bba'],
    ['{{ agent.x | default("d") }}{{ "" | default("e") }}{{ "" | default("f", true) }}{{ "" | default(boolean=true, default_value="g") }}', 'dfg'],
    ['{{ user | length }}{{ [1, 2] | length }}{{ agent | length }}{{ [4, 5] | first }}{{ user | last }}', '3224a'],
    ['{{ [1, "a"] | join }} {{ agent | join(d="-") }} {{ agent | list }} {{ "ab" | list }}', '1a id-name ["id","name"] ["a","b"]'],
    ['{{ ["b", "A", "c"] | sort | join }} {{ ["b", "A"] | sort(case_sensitive=true, reverse=true) | join }} {{ [10, 9] | sort }}', 'Abc bA [9,10]'],
    ['{{ ["a", "A", "b"] | unique }} {{ ["a", "A"] | unique(true) }}', '["a","b"] ["a","A"]'],
    ['{{ "a\n\nb" | indent(2) }}|{{ "a\nb" | indent(width=1, first=true) }}', 'a\n\n  b| a\n b'],
    ['{{ "7.9" | int }} {{ "12a" | int }} {{ "" | int(5) }} {{ 2.345 | round(2) }} {{ 2.1 | round(method="ceil") }}', '7 0 5 2.35 3'],
    ['{{ agent | tojson }} {{ [1] | dump(1) }} {{ "a\\"" | tojson }}', '{"id":"a","name":"Bo"} [\n 1\n] "a\\""'],
    // methods
    ['{{ user.upper() }}{{ user.startswith("A") }}{{ user.endswith("A") }}{{ " a ".strip() }}', 'ADAtruefalsea'],
    ['{{ "a,b".split(",") }} {{ " a  b ".split() }} {{ [1, 2, 3].slice(1) }} {{ "abcd".slice(0, -1) }} {{ agent.keys() }}{{ agent.values() }}', '["a","b"] ["a","b"] [2,3] abc ["id","name"]["a","Bo"]'],
  ])('K41 %s', async (text, printed) => {
    expect(await check(text)).toEqual([]);
    expect(await render(text)).toBe(printed);
  }); // prettier-ignore

  it('K41 a value is never a template, and reaches no pattern', async () => {
    const user = "{{ agent.id }}{% include 'x' %}$&$1";
    expect(await renderTemplate('{{ user }}{{ "x" | replace("x", user) }}', { user })).toBe(user + user);
  });
});

describe('what templates cannot do', () => {
  it.each([
    ['{% macro m() %}x{% endmacro %}', 'a template cannot use macro', 'write its text where it belongs'],
    ['{% include "/etc/passwd" %}', 'a template cannot use include', 'write the text into this template'],
    ['{% extends "x" %}', 'a template cannot use extends', 'write the text into this template'],
    ['{% block x %}{% endblock %}', 'a template cannot use block', 'leave out its two tags'],
    ["{% switch user %}{% case 'a' %}b{% endswitch %}", 'a template cannot use switch', 'write if and elif'],
    ['{% ifAsync user %}a{% endif %}', 'a template cannot use ifAsync', 'write if'],
    ['{{ r/a/ }}', 'a template cannot use a regular expression', 'compare or replace plain texts'],
    ['{% with %}{% endwith %}', 'unknown block tag: with', 'write {% set name = value %}'],
    ['{{ user[1:] }}', 'expected comma', 'correct the template; for list[1:3] write list.slice(1, 3)'],
    ['{{ user[:3] }}', 'unexpected token: :', 'correct the template; for list[1:3] write list.slice(1, 3)'],
    ['{% raw %}{{ user }}', "the block 'raw' has no endraw", 'correct the template'],
    ['{% raw %}{% raw %}{% endraw %}', "the block 'raw' has no endraw", 'correct the template'],
    ['{% for x in user if x else "" %}{% endfor %}', 'it is not clear what the else', 'put brackets around a if b else c'],
    ['{% set a, b = 1 %}', 'set gives a value to one name', 'write one set for each'],
    ['{% set prénom = 1 %}', 'what is set "prénom" is not a name', 'use at most 64 letters, digits and _, and no digit first'],
    ['{{ [1] | selectattr("t", "equalto", "x") }}', "there is no filter 'selectattr'", 'write a loop, with {% for x in list if … %}'],
    ['{{ user | safe }}', "there is no filter 'safe'", 'leave it out: nothing is escaped here'],
    ['{{ user | uper }}', "there is no filter 'uper' (did you mean 'upper'?)", 'use one of capitalize, default'],
    ['{{ user.toUpperCase() }}', "there is no method 'toUpperCase'", 'use one of endswith, items'],
    ['{{ cycler(1) }}', "there is no function 'cycler'", 'write {% if loop.index is odd %}'],
    ['{{ user is divisibleby(3) }}', "there is no test 'divisibleby'", 'write x % 3 == 0'],
    ['{{ user is odd(3) }}', "the test 'odd' takes no brackets", 'leave them out'],
    ['{{ [1] | sort(attribute="x") }}', "there is no argument of 'sort' 'attribute'", 'use one of reverse, case_sensitive'],
    ['{{ user | upper(1) }}', "the filter 'upper' takes 0 values in brackets", 'leave the rest out'],
    ['{% for x in [1] %}{{ loop.depth }}{% endfor %}', "there is no loop['depth']", 'use one of index, index0'],
    ['{{ skills["revew"] }}', "there is no skills['revew'] (did you mean 'review'?)", 'use one of review'],
    ['{{ usr }}', "'usr' is not known to the template (did you mean 'user'?)", 'use one of user, agent, skills, none_yet, or set it in the template'],
    ['{{ usr | default("x") }}', "'usr' is not known", 'use one of user'],
    ['{{ range }}', "'range' is not known", 'use one of user'],
  ])('K41 %s is refused by name before anything is rendered', async (text, message, cure) => {
    const all = await check(`x\n${text}`);
    expect(all[0]).toMatchObject({ line: 2, message: expect.stringContaining(message) as string, cure: expect.stringContaining(cure) as string });
    await expect(render(`x\n${text}`)).rejects.toMatchObject({ message: all[0]?.message });
  }); // prettier-ignore

  it.each([
    ['{{ agent.x }}', 'it has no value to print'],
    ['{{ agent.x | upper }}', 'it has no value to print'],
    ['{% if missing is defined %}{% endif %}{{ missing }}', 'it has no value to print'],
    ['{% for x in agent.x %}{% endfor %}', 'what has no value is not a list, map or text'],
    ['{% for a, b in [1] %}{% endfor %}', 'the loop has 2 names, and 1 is not a list of that many'],
    ['{{ "ab" * 2 }}', 'the text "ab" is not a number'],
    ['{{ 1 / 0 }}', 'Infinity is not a number'],
    ['{{ "a" + 1 }}', "'+' takes two numbers, texts or lists"],
    ['{{ [1] == [1] }}', 'lists and maps cannot be compared'],
    ['{{ 1 in 2 }}', "'in' looks into a list, a map or a text"],
    ['{{ user.items() }}', 'the text "Ada" is not a map'],
    ['{{ "a" | replace("", "b") }}', 'the text to replace is empty'],
    ['{{ "a".split("") }}', 'the separator is empty'],
    ['{{ 1 | round(0, "x") }}', "it rounds by 'common'"],
  ])('K41 %s fails with its line and is never silently wrong', async (text, message) => {
    expect(await check(text)).toEqual([]);
    await expect(render(`x\n${text}`)).rejects.toMatchObject({ code: 'template_invalid', line: 2, message: expect.stringContaining(message) as string });
  }); // prettier-ignore

  it('K41 finds names outside the loop that binds them, and those that are set anywhere are known', async () => {
    const found = await check('{% for s in skills %}{{ s }}{% endfor %}{{ s }}\n{{ loop.index }}{{ late }}{% set late = 1 %}');
    expect(found.map(({ line, column, code }) => [line, column, code])).toEqual([
      [1, 44, 'template_name_unknown'],
      [2, 4, 'template_name_unknown'],
    ]);
  });

  it('K41 names at most 20 problems, in the order of the text', async () => {
    const found = await check('{{ a | x }}\n{{ b }}\n'.repeat(30));
    expect(found.length).toBe(20);
    expect(found.map(({ line }) => line)).toEqual(found.map(({ line }) => line).sort((a, b) => a - b));
  });
});

describe('templates reach data only', () => {
  it.each([
    ...['valueOf', 'toString', 'constructor', 'hasOwnProperty', '__proto__'].flatMap((name) => [
      `{% if false %}{% set ${name} = 1 %}{% endif %}{{ ${name} }}`,
      `{{ ${name}() }}`,
      `{{ agent.${name} }}{{ user.${name} }}`,
      `{{ agent['${name}'] }}`,
      `{{ [].${name} }}`,
      `{{ user.${name}() }}`,
      `{{ user | ${name} }}`,
      `{{ user is ${name} }}`,
    ]),
    '{{ range.name }}',
    '{{ user.length.constructor }}',
  ])('K41 %s gives nothing of the engine or of prototypes', async (text) => {
    expect(await problemOf(text)).toMatchObject({ code: expect.stringMatching(/^template_/) as string });
  });

  it('K41 takes such names for names as any other where a template gives them', async () => {
    expect(await render('{% set valueOf = { __proto__: 1, constructor: 2 } %}{{ valueOf }}')).toBe('{"__proto__":1,"constructor":2}');
  });
});
