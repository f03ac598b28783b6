import { existsSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { PROMPT_VALUES } from '../fixtures/prompt-variables.ts';
import { checkPrompt } from '../../core/agent/index.ts';
import { renderPrompt } from '../../core/kernel/index.ts';

const RUNS = process.env['PITH_TEST_LONG'] === '1' ? 10_000 : 100;

const TOKEN = '\uE000123456789\uE001';
const VARIABLES = { ...PROMPT_VALUES, skills: { reviewing: TOKEN } };

const file = path.join(os.tmpdir(), `pith-canary-${process.pid}`);
const canary = globalThis as { pithCanary?: number };
const CODE = `globalThis.pithCanary=1;process.getBuiltinModule("fs").writeFileSync(${JSON.stringify(file)},"ran")`;
/** The same without quotes, blanks and all else that ends a name. */
const ESCAPED = [...CODE].map((character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');

afterAll(() => rmSync(file, { force: true }));

/** Checked, and rendered whatever the check says. */
async function attack(text: string): Promise<{ readonly findings: number; readonly printed: string | null; readonly code: string | null }> {
  delete canary.pithCanary;
  rmSync(file, { force: true });
  const findings = await checkPrompt(text, 'prompt.jinja2', ['reviewing']);
  let printed: string | null = null;
  let code: string | null = null;
  try {
    printed = await renderPrompt({ text, file: 'prompt.jinja2', variables: VARIABLES });
  } catch (error) {
    code = (error as { readonly code: string }).code;
  }
  expect(canary.pithCanary, `the canary: ${text}`).toBeUndefined();
  expect(existsSync(file), `the file of the canary: ${text}`).toBe(false);
  expect(code ?? 'prompt_invalid').toBe('prompt_invalid');
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
    expect((await attack(text)).code).toBe('prompt_invalid');
    expect((await checkPrompt(text, 'prompt.jinja2', []))[0]).toMatchObject({
      severity: 'error',
      code: expect.stringMatching(/^prompt_(invalid|symbol_unknown)$/) as string,
      file: 'prompt.jinja2',
      line: 1,
    });
  });

  it('T9 F1 runs nothing of a text in what is called, which no list of names would catch', async () => {
    const text = String.raw`{{ agent['\\"+(globalThis.pithCanary=2), context, [])),0,3), env.opts.autoescape);//']() }}`;
    expect((await attack(text)).code).toBe('prompt_invalid');
  });

  it('T9 says file, line, what and cure', async () => {
    const [finding] = await checkPrompt('one\n{% set a"b = 1 %}', 'prompt.jinja2', []);
    expect(finding).toEqual({
      severity: 'error',
      code: 'prompt_invalid',
      message: String.raw`what is set "a\"b" is no name`,
      cure: 'use at most 64 letters, digits and _, and no digit first',
      file: 'prompt.jinja2',
      line: 2,
      column: 8,
    });
  });

  it.each(['{% set prénom = 1 %}', '{{ r/a/ }}', "{% switch user %}{% case 'a' %}b{% endswitch %}", '{% ifAsync user %}a{% endif %}'])(
    'T9 refuses what is not on the list: %s',
    async (text) => expect(await checkPrompt(text, 'p', [])).toMatchObject([{ code: 'prompt_invalid', line: 1 }]),
  );
});

describe('templates end', () => {
  const BIG = `{% set a = 'aa' %}{% for i in range(18) %}{% set a = a ~ a %}{% endfor %}`;
  const NESTED = '{% set a = [1] %}{% for i in range(60) %}{% set a = [a, a] %}{% endfor %}';
  const NAMES = Array.from({ length: 6000 }, (_, index) => `{% set name_${index} = ${index} %}`).join('');

  it.each([
    ['the regular expression of F1', `{{ '${'a'.repeat(40)}X' | replace(r/^(a+)+$/, 'b') }}`],
    ['a text that becomes a regular expression', `{{ '${'a'.repeat(40)}X'.match('^(a+)+$') }}`],
    ['a list of lists that doubles', `${NESTED}{{ a }}`],
    ['the JSON of one', `${NESTED}{{ a | dump }}`],
    ['the comparison of one', `${NESTED}{{ a == 'x' }}{{ a < 'x' }}{{ a + 1 }}{{ a * 2 }}{{ [a, a] | sort }}`],
    ['one as a key and a number', `${NESTED}{{ agent[a] }}{{ 'x'.repeat(a) }}`],
    ['a list in itself', '{% set a = [] %}{% if a.push(a) %}{{ a }}{% endif %}'],
    [
      'a list that grows while it is gone through',
      '{% set a = [1] %}{% for x in a %}{% if a.push(x) %}{% endif %}{% endfor %}{{ a | length }}',
    ],
    ['texts put between texts', `${BIG}{{ a.replaceAll('a', a) }}`],
    ['texts put between characters', `${BIG}{{ a | replace('', a) }}`],
    ['texts between many', `${BIG}{{ [a, a, a, a, a, a].join(a) }}`],
    ['a long text that is nearly found', `${BIG}{% set b = 'b' ~ a %}{{ (a ~ a).indexOf(b) }}{{ b in (a ~ a) }}`],
    ['work on a long text again and again', `${BIG}{% for i in range(9999) %}{% set b = a | upper %}{% endfor %}`],
    ['characters that grow', `${BIG}{{ a | replace('a', '\uFB03') | upper }}`],
    ['an indent of each line', `{% set a = '\\n' %}{% for i in range(15) %}{% set a = a ~ a %}{% endfor %}{{ a | indent(9999) }}`],
    [
      'negative and missing numbers',
      `{{ 'a'.repeat(-1) }}{{ 'a'.repeat(user) }}${BIG}{% for i in range(9999) %}{{ a | length }}{% endfor %}`,
    ],
    ['macros that call themselves', '{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}'],
    [
      'what a macro calls back',
      '{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}',
    ],
    ['loops in loops', '{% for i in range(9999) %}'.repeat(12) + '{% endfor %}'.repeat(12)],
    ['loops of two names in each other, whose code doubled', '{% for a, b in agent %}'.repeat(60) + 'x' + '{% endfor %}'.repeat(60)],
    ['brackets', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`],
    ['lists in lists', `{{ ${'['.repeat(50_000)} }}`],
    ['a sum without end', `{{ ${'1+'.repeat(60_000)}1 }}`],
    ['filters without end', `{{ 'a'${' | upper'.repeat(25_000)} }}`],
    ['conditions in conditions', '{% if 1 %}'.repeat(10_000) + '{% endif %}'.repeat(10_000)],
    ['raw text that is never closed', '{% raw %}'.repeat(20_000)],
    ['a text that is never closed', `{{ '${'a'.repeat(200_000)}`],
    ['a comment that is never closed', `{#${'#'.repeat(200_000)}`],
    ['blanks that are cut off', `a${' '.repeat(200_000)}b{%- if user %}{% endif %}`],
    ['runs of blanks', `${`${' '.repeat(499)}b`.repeat(500)}{%- if user %}{% endif %}`],
    ['blanks before brackets', `${'{{'.repeat(60_000)}${' '.repeat(900)}}}`],
    ['a template without end', '{{ user }}'.repeat(100_000)],
    ['thousands of unknown names', Array.from({ length: 6000 }, (_, index) => `{{ x${index} }}`).join('')],
    ['thousands of names, and loops', NAMES + '{% for i in [1] %}{{ nam }}{% endfor %}'.repeat(1500)],
    ['a name of many letters', `{{ ${'x'.repeat(200_000)} }}{{ skills['${'x'.repeat(50_000)}'] }}`],
  ])('T9 F1 ends with %s', async (_, text) => {
    const { printed, code } = await attack(text);
    expect(code).toBe(printed === null ? 'prompt_invalid' : null);
  });

  it('T9 keeps the place of a skill whole, whatever else a template does', async () => {
    expect((await attack("{{ skills['reviewing'] }}")).printed).toBe(TOKEN);
    expect((await attack('{{ skills.reviewing | upper | trim }}')).printed).toBe(TOKEN);
  });
});

describe('hostile templates by chance', () => {
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'agent', 'skills', 'user', 'loop', 'caller', 'range', 'm', 'upper', 'dump', 'replace', 'defined') },
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
        of(inner, ' | ', fc.constantFrom('center', 'indent', 'replace', 'batch', 'slice', 'join', 'dump', 'sort', 'select', 'groupby', 'truncate', 'list', 'urlencode', 'title'), '(', many, ')'),
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
    const template = fc.array(statement, { minLength: 1, maxLength: 5 }).map((each) => each.join(''));
    const usable = fc.tuple(fc.constantFrom('', "{% set a = [1, 'x', agent] %}{% set b = { a: 1 } %}{% macro m(a, b=1) %}{{ a }}{% endmacro %}"), template);
    await fc.assert(
      fc.asyncProperty(usable, async ([before, text]) => {
        if ((await attack(before + text)).printed !== null) accepted += 1;
      }),
      { numRuns: RUNS },
    );
    expect(accepted).toBeGreaterThan(RUNS / 100); // not only refusals
  }); // prettier-ignore
});
