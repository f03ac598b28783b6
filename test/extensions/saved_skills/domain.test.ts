import { describe, expect, it } from 'vitest';
import { boundsOf, limitProblems } from '../../../sandbox/extensions/saved_skills/domain/permissions.ts';
import { cleanTags, emojiOf, savedSkillSchema } from '../../../sandbox/extensions/saved_skills/domain/saved-skill.ts';
import {
  coerce,
  inputJsonSchema,
  inputSchemaProblems,
  positionalInputs,
  readInputs,
  type InputField,
  namedThread,
  withoutNamesOfHost,
} from '../../../sandbox/extensions/saved_skills/domain/inputs.ts';
import { columnsOf, skillOf } from '../../../sandbox/extensions/saved_skills/store/skill-store.ts';

const field = (given: Partial<InputField> & Pick<InputField, 'name'>): InputField => ({
  description: '',
  type: 'string',
  required: false,
  default: null,
  choices: [],
  ...given,
});

describe('inputs', () => {
  it.each([
    ['M32', 'int', '42', 42],
    ['M32', 'int', '-7', -7],
    ['M32', 'int', '4.2', null],
    ['M32', 'int', '1e3', null],
    ['M32', 'int', '9007199254740993', null],
    ['M32', 'int', '', null],
    ['M32', 'float', '1e3', 1000],
    ['M32', 'float', '.5', 0.5],
    ['M32', 'float', 'NaN', null],
    ['M32', 'float', '1e999', null],
    ['M33', 'bool', 'Yes', true],
    ['M33', 'bool', 'off', false],
    ['M33', 'bool', '1', true],
    ['M33', 'bool', 'maybe', null],
    ['M34', 'user', '<@1>', '1'],
    ['M34', 'user', '<@!1>', '1'],
    ['M34', 'user', '1', '1'],
    ['M34', 'user', '<#1>', null],
    ['M34', 'channel', '<#2>', '2'],
    ['M34', 'channel', '2', '2'],
    ['M34', 'channel', '<@2>', null],
    ['M35', 'url', 'https://example.org/a', 'https://example.org/a'],
    ['M35', 'url', 'ftp://example.org', null],
    ['M35', 'url', 'http:///a', null],
    ['M35', 'url', '/a', null],
  ] as const)('%s %s %j is %j', (_number, type, given, value) => {
    const read = coerce(type, given);
    expect('value' in read ? read.value : null).toBe(value);
  });

  it('M31 names are unique and of few letters', () => {
    expect(inputSchemaProblems([field({ name: 'a' }), field({ name: 'a' })])).toEqual([
      { path: ['input_schema', 1, 'name'], message: "input 'a' is there twice" },
    ]);
    const names = ['a', 'a_1', 'A', '1a', '_a', 'a'.repeat(32), 'a'.repeat(33), 'a-b'];
    const valid = names.filter((name) => savedSkillSchema().shape.input_schema.safeParse([{ name }]).success);
    expect(valid).toEqual(['a', 'a_1', 'a'.repeat(32)]);
  });

  it('M37 a default or choice that does not fit is an error of saving; choices are compared after coercion', () => {
    expect(inputSchemaProblems([field({ name: 'n', type: 'int', default: 'x' })])).toHaveLength(1);
    expect(inputSchemaProblems([field({ name: 'n', type: 'int', default: '3', choices: ['1', '2'] })])).toHaveLength(1);
    expect(inputSchemaProblems([field({ name: 'n', type: 'int', choices: ['1', 'x'] })])).toHaveLength(1);
    expect(readInputs([field({ name: 'n', type: 'float', choices: ['1.0', '2'] })], { n: '1' })).toEqual({ n: 1 });
  });

  it('M36 defaults are coerced when it is invoked, and all missing names are in one error', () => {
    const fields = [
      field({ name: 'n', type: 'int', default: '3' }),
      field({ name: 'a', required: true }),
      field({ name: 'b', required: true }),
    ];
    expect(readInputs(fields, { a: 'x', b: 'y' })).toEqual({ n: 3, a: 'x', b: 'y' });
    expect(() => readInputs(fields, {})).toThrow("'a', 'b' are missing");
  });

  it('M38 positional, flag and JSON give the same typed map', () => {
    const fields = [field({ name: 'n', type: 'int' }), field({ name: 'on', type: 'bool' })];
    const all = [positionalInputs(fields, ['5', 'yes']), { n: '5', on: 'yes' }, { n: 5, on: true }];
    expect(all.map((given) => readInputs(fields, given))).toEqual(Array.from({ length: 3 }, () => ({ n: 5, on: true })));
    expect(() => positionalInputs(fields, ['1', '2', '3'])).toThrow('3 values were given, and there are 2 inputs');
  });

  it('M38 M39 a name before a value is refused where values go by their order; a value may have the sign', () => {
    const fields = [field({ name: 'topic' })];
    for (const word of ['topic=cats', 'topci=cats', 'topic='])
      expect(() => positionalInputs(fields, [word])).toThrow(
        expect.objectContaining({ code: 'input_invalid', cure: `write: --input ${word}` }),
      );
    for (const word of ['x = 1', 'weather=fine', '=topic', 'Topic=cats']) expect(positionalInputs(fields, [word])).toEqual({ topic: word });
  });

  it('M39 M40 unknown inputs are errors; names of the host are left alone', () => {
    expect(() => readInputs([field({ name: 'city' })], { town: 'x' })).toThrow("there is no input 'town'");
    expect(readInputs([field({ name: 'city' })], { __thread_id__: 't', city: 'Rome' })).toEqual({ city: 'Rome' });
    expect([namedThread({ __thread_id__: 't' }), namedThread({ __thread_id__: '' }), namedThread({ city: 't' })]).toEqual([
      't',
      undefined,
      undefined,
    ]);
    expect(() => namedThread({ __thread_id__: 1 })).toThrow('is not the name of a conversation');
    expect(withoutNamesOfHost({ __thread_id__: 't', city: 'Rome' })).toEqual({ city: 'Rome' });
    expect(readInputs([], JSON.parse('{"__proto__": {"a": 1}}') as never)).toEqual({});
  });

  it('M52 are the parameters of a tool', () => {
    expect(
      inputJsonSchema([field({ name: 'n', type: 'int', required: true, choices: ['1', '2'] }), field({ name: 's', default: 'x' })]),
    ).toEqual({
      type: 'object',
      properties: { n: { type: 'integer', enum: [1, 2] }, s: { type: 'string', default: 'x' } },
      required: ['n'],
      additionalProperties: false,
    });
  });
});

describe('limits', () => {
  const settings = {
    defaults: { max_iterations: 12, max_tool_calls: 30, max_runtime_seconds: 60 },
    extended: { max_iterations: 50, max_tool_calls: 150, max_runtime_seconds: 600 },
    ceiling: { max_iterations: 200, max_tool_calls: 1000, max_runtime_seconds: 3600 },
  };
  const skill = { max_iterations: 0, max_tool_calls: 0, max_runtime: '0s', extended_bounds: false, source: 'manual' } as const;

  it('M24 0 is the default of the settings', () => expect(boundsOf(skill, false, settings)).toEqual(settings.defaults));

  it('M25 M26 M27 an author, one with extended limits, an administrator, what ships', () => {
    const asked = { ...skill, max_iterations: 60, max_tool_calls: 40, max_runtime: '90s' };
    expect(limitProblems(asked, false, settings)).toHaveLength(3);
    expect(limitProblems({ ...asked, extended_bounds: true }, false, settings)).toEqual([
      { path: ['max_iterations'], message: 'max_iterations 60 is more than 50' },
    ]);
    expect(limitProblems(asked, true, settings)).toEqual([]);
    expect(limitProblems({ ...asked, source: 'builtin' }, false, settings)).toEqual([]);
    expect(limitProblems({ ...asked, max_iterations: 201 }, true, settings)).toEqual([
      { path: ['max_iterations'], message: 'max_iterations 201 is more than 200' },
    ]);
  });

  it('M29 after a revoke a run has the less of both', () => {
    const granted = { ...skill, max_iterations: 40, extended_bounds: true };
    expect(boundsOf(granted, false, settings).max_iterations).toBe(40);
    expect(boundsOf({ ...granted, extended_bounds: false }, false, settings).max_iterations).toBe(12);
  });
});

describe('tags, emoji, schedules', () => {
  it('M83 tags are trimmed, in lower case, each once, few and short', () => {
    expect(cleanTags([' A ', 'a', 'B', ''])).toEqual(['a', 'b']);
    expect(() => cleanTags(['x'.repeat(33)])).toThrow('longer than 32');
    expect(() => cleanTags(Array.from({ length: 17 }, (_, n) => `t${n}`))).toThrow('17 tags');
    expect(cleanTags(Array.from({ length: 40 }, () => 'same'))).toEqual(['same']);
  });

  it('M85 M86 the emoji of a state, the default one for the start alone', () => {
    const skill = { default_emoji: '🙂', state_react_emoji: { __end__: '✅', search: '🔎' } };
    expect(emojiOf(skill, { at: 'start' })).toBe('🙂');
    expect(emojiOf(skill, { at: 'end' })).toBe('✅');
    expect(emojiOf(skill, { at: 'error' })).toBeNull();
    expect(emojiOf(skill, { at: 'tool', tool: 'search' })).toBe('🔎');
    expect(emojiOf({ ...skill, state_react_emoji: { __start__: '👀' } }, { at: 'start' })).toBe('👀');
  });
});

describe('rows', () => {
  it('M1 every field round-trips', () => {
    const values: Record<string, unknown> = {};
    for (const [key, type] of Object.entries(savedSkillSchema().shape)) values[key] = sampleOf(key, type);
    const skill = savedSkillSchema().parse(values);
    expect(skillOf({ ...(columnsOf(skill) as never as object), revision: 1 } as never)).toEqual(skill);
    expect(Object.keys(skill).sort()).toEqual(Object.keys(savedSkillSchema().shape).sort());
  });
});

/** A value that is none of the defaults. */
function sampleOf(key: string, type: { safeParse(value: unknown): { success: boolean } }): unknown {
  const candidates = [
    `00000000-0000-4000-8000-0000000000${String(key.length).padStart(2, '0')}`,
    true,
    7,
    '90s',
    '1.2.3',
    'builtin',
    'shared',
    'fast',
    'some-name',
    ['one', 'two'],
    [field({ name: 'n', type: 'int', required: true })],
    { kind: 'dm', target: 'x' },
    { __end__: '✅' },
  ];
  const found = candidates.find((value) => type.safeParse(value).success);
  if (found === undefined) throw new Error(`no sample for ${key}: add one, and its mapping`);
  return found;
}
