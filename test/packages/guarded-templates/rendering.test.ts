import { describe, expect, it } from 'vitest';
import { checkTemplate, renderTemplate } from '@pith/guarded-templates';
import { PROMPT_VALUES } from '../../fixtures/prompt-variables.ts';

const check = (text: string) => checkTemplate(text, PROMPT_VALUES, ['skills']);
const render = (text: string) => renderTemplate(text, PROMPT_VALUES, ['skills']);

describe('templates reach data only', () => {
  it.each(['valueOf', 'toString', 'constructor', 'hasOwnProperty', '__proto__'])(
    'K41 does not take %s as set by a dead branch',
    async (name) => {
      const text = `{% if false %}{% set ${name} = 1 %}{% endif %}{% macro ${name}() %}{% endmacro %}{% set e = ${name} %}`;
      expect(await check(text)).toMatchObject([{ code: 'template_name_unknown', line: 1 }]);
    },
  );

  it.each([
    '{% if false %}{% set valueOf = 1 %}{% endif %}{% set e = valueOf().env %}{{ e.init() }}',
    '{{ valueOf() }}',
    "{{ [''] | sum('constructor') }}x",
    "{{ [''] | join(',', 'constructor') }}x",
    "{{ 'x' | constructor }}",
    "{{ ['x'] | select('constructor') }}",
    "{{ 'x' is valueOf }}",
    "{{ agent.hasOwnProperty('id') }}",
    '{{ agent.name.valueOf() }}',
    '{{ range.name }}',
    '{{ range.call }}',
    '{{ [].constructor }}',
    '{{ [1].map }}',
  ])('K41 renders nothing of the engine or of prototypes: %s', async (text) => {
    const printed = await render(text).catch((error: { readonly code: string }) => error.code);
    expect(['template_invalid', 'template_name_unknown', 'NaNx', 'x', ',x']).toContain(printed);
  });

  it('K41 calls what templates are given: cyclers, joiners, macros in maps', async () => {
    const text =
      "{% macro m(x) %}<{{ x }}>{% endmacro %}{% set o = { f: m } %}{% set j = joiner('-') %}{{ cycler(1, 2).next() }}{{ j() }}{{ j() }}{{ o.f(1) }}";
    expect(await check(text)).toEqual([]);
    expect(await render(text)).toBe('1-<1>');
  });
});

describe('templates end', () => {
  it.each([
    ['{{ range(1000000000) }}', 'numbers in a range'],
    ['{{ range(0, 1, 0.0000000001) }}', 'numbers in a range'],
    ["{{ 'a'.repeat(500000000) }}", 'repetitions'],
    ["{{ 'a'.padEnd(500000000) }}", 'characters of text'],
    ["{{ 'a' | center(500000000) }}", "the size of 'center'"],
    ['{{ [1] | slice(500000000) }}', "the size of 'slice'"],
    ['{% set a = [1] %}{% for i in range(40) %}{% set a = a.concat(a) %}{% endfor %}', 'items in a list'],
    ["{% set a = 'aa' %}{% for i in range(26) %}{% set a = a ~ a %}{% endfor %}{{ a.split('') }}", 'characters of text'],
    ["{% set a = 'aa' %}{% for i in range(26) %}{% set a = a ~ a %}{% endfor %}{{ a }}", 'characters of text'],
    ["{% set a = 'aa' %}{% for i in range(26) %}{% set a = a ~ a %}{% endfor %}{% for c in a %}{% endfor %}", 'characters of text'],
    [
      '{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% endfor %}',
      'rounds of loops',
    ],
    ['{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}', 'rounds of loops and calls'],
  ])('K41 refuses %s', async (text, reason) => {
    await expect(render(text)).rejects.toMatchObject({ code: 'template_invalid', message: expect.stringContaining(reason) as string });
  });

  it('K41 renders what is large and within bounds', async () => {
    expect((await render('{% for i in range(9000) %}{{ i }},{% endfor %}')).length).toBeGreaterThan(40_000);
  });
});
