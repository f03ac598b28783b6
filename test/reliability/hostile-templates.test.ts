import { existsSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { checkTemplate, renderTemplate } from '@pith/guarded-templates';
import { PROMPT_VALUES } from '../fixtures/prompt-variables.ts';

const RUNS = process.env['PITH_TEST_LONG'] === '1' ? 10_000 : 100;

const TOKEN = '\uE000123456789\uE001';
const VARIABLES = { ...PROMPT_VALUES, skills: { reviewing: TOKEN } };

const file = path.join(os.tmpdir(), `pith-canary-${process.pid}`);
const canary = globalThis as { pithCanary?: number };
const CODE = `globalThis.pithCanary=1;process.getBuiltinModule("fs").writeFileSync(${JSON.stringify(file)},"ran")`;
/** The same without quotes, blanks and all else that ends a name. */
const ESCAPED = [...CODE].map((character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');

afterAll(() => rmSync(file, { force: true }));

const REFUSED = /^template_(invalid|name_unknown)$/;

/** Checked, and rendered whatever the check says. */
async function attack(text: string): Promise<{ readonly findings: number; readonly printed: string | null; readonly code: string | null }> {
  delete canary.pithCanary;
  rmSync(file, { force: true });
  const findings = await checkTemplate(text, VARIABLES, ['skills']);
  let printed: string | null = null;
  let code: string | null = null;
  try {
    printed = await renderTemplate(text, VARIABLES, ['skills']);
  } catch (error) {
    code = (error as { readonly code: string }).code;
  }
  expect(canary.pithCanary, `the canary: ${text}`).toBeUndefined();
  expect(existsSync(file), `the file of the canary: ${text}`).toBe(false);
  expect(code ?? 'template_invalid').toMatch(REFUSED);
  expect(printed?.length ?? 0).toBeLessThanOrEqual(1024 * 1024);
  expect(findings.length > 0 && printed !== null, `refused, and rendered all the same: ${text}`).toBe(false);
  return { findings: findings.length, printed, code };
}

describe('templates never run code', () => {
  const NAME = `a"&Function\`${ESCAPED}\`\`\`&"b`;

  it.each([
    ['set', `{% set ${NAME} = 1 %}`],
    ['a block that is set', `{% set ${NAME} %}x{% endset %}`],
    ['a loop', `{% for ${NAME} in [1] %}x{% endfor %}`],
    ['the second target of a loop', `{% for k, ${NAME} in { a: 1 } %}x{% endfor %}`],
    ['a macro', `{% macro ${NAME}() %}x{% endmacro %}`],
    ['an argument', `{% macro m(${NAME}) %}x{% endmacro %}{{ m(1) }}`],
    ['an argument with a default', `{% macro m(${NAME}=1) %}x{% endmacro %}{{ m() }}`],
    ['a keyword', `{% macro m(a=1) %}x{% endmacro %}{{ m(${NAME}=1) }}`],
    ['a block', `{% block ${NAME} %}x{% endblock %}`],
    ['a filter', `{{ 'a' | ${NAME} }}`],
    ['a filter around text', `{% filter ${NAME} %}x{% endfilter %}`],
    ['a test', `{{ 'a' is ${NAME} }}`],
    ['a symbol', `{{ ${NAME} }}`],
    ['a key', `{{ { ${NAME}: 1 } | dump }}`],
    ['a call', `{% call ${NAME}() %}x{% endcall %}`],
    ['the argument of a call block', `{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(${NAME}) m() %}x{% endcall %}`],
    ['an import', `{% import 'x' as ${NAME} %}`],
    ['a name that is imported', `{% from 'x' import ${NAME} %}`],
    ['a loop that waits', `{% asyncEach ${NAME} in [1] %}x{% endeach %}`],
    ['loops side by side', `{% asyncAll ${NAME} in [1] %}x{% endall %}`],
  ])('T9 F1 refuses a hostile name in %s', async (_, text) => {
    expect((await attack(text)).code).toMatch(REFUSED);
  });

  it('T9 F1 runs nothing of a text in what is called, which no list of names would catch', async () => {
    const text = String.raw`{{ agent['\\"+(globalThis.pithCanary=2), context, [])),0,3), env.opts.autoescape);//']() }}`;
    expect((await attack(text)).code).toBe('template_invalid');
  });
});

describe('templates end', () => {
  const BIG = `{% set a = 'aa' %}{% for i in range(18) %}{% set a = a ~ a %}{% endfor %}`;
  const NESTED = '{% set a = [1] %}{% for i in range(60) %}{% set a = [a, a] %}{% endfor %}';
  const NAMES = Array.from({ length: 6000 }, (_, index) => `{% set name_${index} = ${index} %}`).join('');

  /** Far beyond the bounds: none of them is rendered. */
  it.each([
    ['a range', '{{ range(1000000000) }}', 'items in a list'],
    ['a range of small steps', '{{ range(0, 1, 0.0000000001) }}', 'items in a list'],
    ['the regular expression of F1', `{{ '${'a'.repeat(40)}X' | replace(r/^(a+)+$/, 'b') }}`, 'regular expression'],
    ['the text of a list of lists that doubles', `${NESTED}{{ a }}`, 'characters of text'],
    ['the JSON of one', `${NESTED}{{ a | dump(-9000000) }}`, 'characters of text'],
    ['the comparison of one', `${NESTED}{{ [a, a] | sort }}`, 'not a number'],
    ['its text as a part', `${NESTED}{{ 'x' in [a ~ ''] }}`, 'characters of text'],
    ['a list that doubles', '{% set a = [1] %}{% for i in range(40) %}{% set a = a + a %}{% endfor %}', 'items in a list'],
    [
      'a list that is deeper than anybody prints',
      '{% set a = 1 %}{% for i in range(9000) %}{% set a = [a] %}{% endfor %}{{ a }}',
      'deeper',
    ],
    ['a text that doubles', `${BIG}{% set a = a ~ a ~ a %}{{ a }}`, 'characters of text'],
    ['the JSON of one text many times', `${BIG}{{ [a, a, a, a, a] | dump(-9000000) }}`, 'characters of text'],
    ['texts put between texts', `${BIG}{{ a | replace('a', a) }}`, 'characters of text'],
    ['texts between many', `${BIG}{{ [a, a, a, a, a, a] | join(a) }}`, 'characters of text'],
    ['a long text that is nearly found', `${BIG}{% set b = 'b' ~ a %}{{ b in (a ~ a) }}`, 'steps'],
    ['work on a long text again and again', `${BIG}{% for i in range(9999) %}{% set b = a | upper %}{% endfor %}`, 'steps'],
    ['characters that grow', `${BIG}{{ a | replace('a', '\uFB03') | upper }}`, 'characters of text'],
    [
      'an indent of each line',
      `{% set a = '\\n' %}{% for i in range(15) %}{% set a = a ~ a %}{% endfor %}{{ a | indent(9999) }}`,
      'characters of text',
    ],
    ['the characters of a long text', `${BIG}{% for c in a %}{% endfor %}`, 'items in a list'],
    ['what is cut off a long text', `${BIG}{{ a.split('a') }}`, 'items in a list'],
    ['loops in loops', '{% for i in range(9999) %}'.repeat(12) + '{% endfor %}'.repeat(12), 'steps'],
    ['brackets', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`, 'template'],
    ['lists in lists', `{{ ${'['.repeat(50_000)} }}`, 'template'],
    ['a sum without end', `{{ ${'1+'.repeat(60_000)}1 }}`, 'nested deeper'],
    ['filters without end', `{{ 'a'${' | upper'.repeat(25_000)} }}`, 'nested deeper'],
    ['conditions in conditions', '{% if 1 %}'.repeat(10_000) + '{% endif %}'.repeat(10_000), 'template'],
    ['a text that is never closed', `{{ '${'a'.repeat(200_000)}`, 'template'],
    ['a comment that is never closed', `{#${'#'.repeat(200_000)}`, 'template'],
    ['blanks that are cut off', `a${' '.repeat(200_000)}b{%- if user %}{% endif %}`, 'blanks in a row'],
    ['blanks before brackets', `${'{{'.repeat(60_000)}${' '.repeat(900)}}}`, 'blanks in a row'],
    ['a template without end', '{{ user }}'.repeat(100_000), 'characters'],
    ['thousands of unknown names', Array.from({ length: 6000 }, (_, index) => `{{ x${index} }}`).join(''), 'x0'],
    ['thousands of unknown filters', Array.from({ length: 6000 }, (_, index) => `{{ 1 | x${index} }}`).join(''), 'x0'],
    ['thousands of names, and loops', NAMES + '{% for i in [1] %}{{ nam }}{% endfor %}'.repeat(1500), 'nam'],
    ['a name of many letters', `{{ ${'x'.repeat(200_000)} }}{{ skills['${'x'.repeat(50_000)}'] }}`, 'not a name'],
  ])('T9 F1 refuses %s', async (_, text, reason) => {
    expect((await attack(text)).code).toMatch(REFUSED);
    await expect(renderTemplate(text, VARIABLES, ['skills'])).rejects.toThrow(reason);
  });

  it.each([
    ['runs of blanks', `${`${' '.repeat(499)}b`.repeat(500)}{%- if user %}{% endif %}`],
    ['loops of two names in each other, whose code doubled', '{% for a, b in agent %}'.repeat(6) + 'x' + '{% endfor %}'.repeat(6)],
    ['thousands of rounds', '{% for i in range(9000) %}{{ i }},{% endfor %}'],
  ])('T9 F1 renders %s, which is large and within bounds', async (_, text) => {
    expect((await attack(text)).printed?.length).toBeGreaterThan(4000);
  });

  it('T9 keeps the place of a skill whole, whatever else a template does', async () => {
    expect((await attack("{{ skills['reviewing'] }}")).printed).toBe(TOKEN);
    expect((await attack('{{ skills.reviewing | upper | trim }}')).printed).toBe(TOKEN);
  });
});

describe('hostile templates by chance', () => {
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'agent', 'skills', 'user', 'loop', 'caller', 'range', 'upper', 'dump', 'replace', 'defined', 'items') },
    { weight: 3, arbitrary: fc.constantFrom(`a"&Function\`${ESCAPED}\`\`\`&"b`, `x";${CODE};"`, `x\`${CODE}\``, `a");${CODE};//`, `a\u2028${CODE}\u2028`) },
    { weight: 2, arbitrary: fc.constantFrom('__proto__', 'constructor', 'prototype', 'valueOf', 'process', 'globalThis', 'Function', 'this', 'env', 'context', 'frame', 'runtime', 'cb', 'output', 'undefined', 'null', 'none') },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom('"', "'", '`', '\\', '\n', '\r\n', '\u2028', '\u2029', '${1}', '//', '/*', '𝒶', 'é', '\0', '1a', '') },
  ); // prettier-ignore
  const text = fc.oneof(
    fc.constantFrom(`"+(${CODE})+"`, `\\\\"+(${CODE})+\\\\"`, `\\"+(${CODE}), context, [])),0,3), env.opts.autoescape);//`, `\`\${${CODE}}\``, '^(a+)+$', 'aaaa'),
    name,
  ); // prettier-ignore
  const { expression } = fc.letrec<{ expression: string }>((tie) => {
    const inner = tie('expression');
    const many = fc.array(inner, { maxLength: 3 }).map((each) => each.join(', '));
    const of = (...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
      fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((each) => each.join(''));
    const leaf = fc.oneof(
      name,
      text.map((each) => `'${each}'`),
      text.map((each) => `"${each}"`),
      fc.constantFrom('1', '-1', '0.5', '1e9', '99999999999', 'true', 'none', '[]', '{}', 'NaN', 'r/^(a+)+$/', "r/x/g"),
    ); // prettier-ignore
    return {
      expression: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        leaf,
        of(inner, '.', name),
        of(inner, '[', inner, ']'),
        of(inner, '(', many, ')'),
        of(name, '(', name, '=', inner, ')'),
        of(inner, ' | ', name),
        of(inner, ' | ', name, '(', many, ')'),
        of(inner, ' | ', fc.constantFrom('indent', 'replace', 'join', 'dump', 'sort', 'unique', 'round', 'list', 'int', 'title'), '(', many, ')'),
        of(inner, ' is ', name),
        of(inner, ' is ', name, '(', many, ')'),
        of(inner, fc.constantFrom(' + ', ' - ', ' * ', ' / ', ' // ', ' % ', ' ** ', ' ~ ', ' == ', ' === ', ' < ', ' in ', ' not in ', ' and ', ' or ', ' if '), inner),
        of('(', many, ')'),
        of('[', many, ']'),
        of('{', name, ': ', inner, '}'),
        of("{'", text, "': ", inner, '}'),
        of('not ', inner),
        of('-', inner),
      ),
    }; // prettier-ignore
  });
  const { statement } = fc.letrec<{ statement: string }>((tie) => {
    const body = fc.array(tie('statement'), { maxLength: 3 }).map((each) => each.join(''));
    const of = (...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
      fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((each) => each.join(''));
    return {
      statement: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        of('{{ ', expression, ' }}'),
        fc.string({ unit: 'binary', maxLength: 20 }),
        text,
        of('{% set ', name, ' = ', expression, ' %}'),
        of('{% set ', name, ', ', name, ' = ', expression, ' %}'),
        of('{% set ', name, ' %}', body, '{% endset %}'),
        of('{% for ', name, ' in ', expression, ' %}', body, '{% else %}', body, '{% endfor %}'),
        of('{% for ', name, ' in ', expression, ' if ', expression, ' %}', body, '{% endfor %}'),
        of('{% for ', name, ', ', name, ' in ', expression, ' %}', body, '{% endfor %}'),
        of('{% for i in range(', fc.constantFrom('3', '9999', '1e9'), ') %}', body, '{% endfor %}'),
        of('{% if ', expression, ' %}', body, '{% elif ', expression, ' %}', body, '{% else %}', body, '{% endif %}'),
        of('{% macro ', name, '(', name, ', ', name, '=', expression, ') %}', body, '{% endmacro %}'),
        of('{% call(', name, ') ', name, '(', expression, ') %}', body, '{% endcall %}'),
        of('{% filter ', name, ' %}', body, '{% endfilter %}'),
        of('{% filter ', name, '(', expression, ') %}', body, '{% endfilter %}'),
        of('{% block ', name, ' %}', body, '{{ super() }}{% endblock %}'),
        of('{% include ', expression, ' %}'),
        of('{% import ', expression, ' as ', name, ' %}'),
        of('{% from ', expression, ' import ', name, ' as ', name, ' %}'),
        of('{% extends ', expression, ' %}'),
        of('{% switch ', expression, ' %}{% case ', expression, ' %}', body, '{% default %}', body, '{% endswitch %}'),
        of('{% asyncEach ', name, ' in ', expression, ' %}', body, '{% endeach %}'),
        of('{% asyncAll ', name, ' in ', expression, ' %}', body, '{% endall %}'),
        of('{% ifAsync ', expression, ' %}', body, '{% endif %}'),
        of('{% raw %}', body, '{% endraw %}'),
        of('{%- ', name, ' -%}'),
        of('{# ', text, ' #}'),
      ),
    };
  });

  it(`T9 F1 ${RUNS} templates of every kind of part, with hostile names wherever a name can stand, run no code and end`, { timeout: 600_000 }, async () => {
    let accepted = 0;
    const several = fc.array(statement, { minLength: 2, maxLength: 5 }).map((each) => each.join(''));
    const template = fc.oneof(statement, several); // most of several hold one that is refused
    const usable = fc.tuple(fc.constantFrom('', "{% set a = [1, 'x', agent] %}{% set b = { a: 1 } %}"), template);
    await fc.assert(
      fc.asyncProperty(usable, async ([before, text]) => {
        if ((await attack(before + text)).printed !== null) accepted += 1;
      }),
      { numRuns: RUNS },
    );
    expect(accepted).toBeGreaterThan(RUNS / 200); // not only refusals
  }); // prettier-ignore
});
