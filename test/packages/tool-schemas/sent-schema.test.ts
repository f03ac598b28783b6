import { ownNames, sentSchema, withinBounds, workOfSource } from '@pith/tool-schemas';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

type Map = Readonly<Record<string, unknown>>;

const schemaOf = (given: unknown): Map => {
  const sent = sentSchema(given);
  if ('problem' in sent) throw new Error(sent.problem);
  return sent.schema;
};
/** Of one argument `x`. */
const argument = (x: unknown, more: object = {}) => (schemaOf({ type: 'object', properties: { x }, ...more })['properties'] as Map)['x'];

const ANY = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }];
const ANYTHING = [...ANY, { type: 'object' }, { type: 'array', items: { anyOf: [...ANY, { type: 'object' }] } }];
const told = (description: string) => [{ type: 'string', description }, ...ANYTHING.slice(1)];
const none = { type: 'object', properties: {} };

/** What servers of models refused, by the reports of those who met it. */
function refusals(schema: Map, at = ''): readonly string[] {
  const found: string[] = [];
  const { type, anyOf, properties, required, items, description, ...rest } = schema as Record<string, unknown> & {
    readonly properties?: Map;
  };
  const say = (why: string) => found.push(`${at || 'top'}: ${why}`);
  const known = ['enum', 'format', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'];
  for (const key of Object.keys(rest)) if (!known.includes(key)) say(`unknown name "${key}"`);
  if (at === '' && (type !== 'object' || properties === undefined)) say('object schema missing properties');
  if (anyOf !== undefined) {
    if (at === '') say('anyOf at the top level');
    if (Object.keys(schema).length > 1) say('any_of must be the only field set');
    for (const [index, each] of (anyOf as Map[]).entries()) found.push(...refusals(each, `${at}|${index}`));
    return found;
  }
  if (typeof type !== 'string' || !['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'].includes(type))
    say('type must be one');
  if (description !== undefined && typeof description !== 'string') say('description is no text');
  for (const [name, each] of Object.entries(properties ?? {})) {
    if (at === '' && !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) say(`property keys should match pattern: ${name}`);
    found.push(...refusals(each as Map, `${at}.${name}`));
  }
  for (const name of (required ?? []) as string[]) if (!Object.hasOwn(properties ?? {}, name)) say(`required ${name} is not defined`);
  if (type === 'array') found.push(...(items === undefined ? ['array schema missing items'] : refusals(items as Map, `${at}[]`)));
  const choices = (rest['enum'] ?? []) as unknown[];
  if ('enum' in rest && (type !== 'string' || choices.length === 0 || choices.some((each) => typeof each !== 'string' || each === '')))
    say('enum: only non-empty strings');
  if ('format' in rest && rest['format'] !== 'date-time') say('format');
  return found;
}

const tree = { type: 'object', properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Node' } } } };
const deep = (levels: number): object => (levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } });
const wide = (levels: number, key: string): object => {
  let part: object = { type: 'string' };
  for (let at = 0; at < levels; at += 1) part = { [key]: [part, part] };
  return part;
};

describe('V2: the top of a schema', () => {
  it.each<[string, unknown, object]>([
    ['nothing', undefined, none],
    ['null', null, none],
    ['true', true, none],
    ['an empty map', {}, none],
    ['no properties', { type: 'object' }, none],
    ['properties that are a list', { type: 'object', properties: [] }, none],
    ['properties that are null', { type: 'object', properties: null, required: null }, none],
    [
      'a draft, an id and definitions',
      { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', type: 'object', $defs: { a: {} } },
      none,
    ],
    ['additionalProperties of any kind', { type: 'object', additionalProperties: {} }, none],
    ['a type list', { type: ['object', 'null'] }, none],
    ['a type in capitals', { type: 'OBJECT' }, none],
    ['no type beside properties', { properties: { a: { type: 'string' } } }, { ...none, properties: { a: { type: 'string' } } }],
    ['a type of another language', { type: 'dict' }, none],
    [
      'arguments of one kind',
      { type: 'object', additionalProperties: { type: 'number' } },
      { ...none, description: '(additionalProperties: {"type":"number"})' },
    ],
    [
      'required of what is not there',
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'b', 7, 'a'] },
      { ...none, properties: { a: { type: 'string' } }, required: ['a'] },
    ],
    ['not', { type: 'object', not: { required: ['a'] } }, { ...none, description: '(not: {"required":["a"]})' }],
    [
      'anyOf that demands one of several',
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { ...none, description: '(needs a, or b)', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    ],
    [
      'oneOf of whole objects, told apart by a constant',
      {
        oneOf: [
          { type: 'object', properties: { do: { const: 'add' }, what: { type: 'string' } }, required: ['do', 'what'] },
          { type: 'object', properties: { do: { const: 'drop' }, at: { type: 'integer' } }, required: ['do', 'at'] },
        ],
      },
      {
        ...none,
        description: '(needs what, or at)',
        properties: { do: { type: 'string', enum: ['add', 'drop'] }, what: { type: 'string' }, at: { type: 'integer' } },
        required: ['do'],
      },
    ],
    [
      'allOf',
      {
        allOf: [{ $ref: '#/definitions/base' }, { properties: { b: { type: 'number' } }, required: ['b'] }],
        definitions: { base: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      },
      { ...none, properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a', 'b'] },
    ],
    [
      'a reference at the top',
      { $ref: '#/$defs/In', $defs: { In: { type: 'object', properties: { a: { type: 'null' } } } } },
      { ...none, properties: { a: { type: 'null' } } },
    ],
    ['a reference to itself', { $ref: '#' }, none],
    [
      'an option that is null',
      { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'null' }] },
      { ...none, properties: { a: { type: 'string' } } },
    ],
    [
      'if, then and else',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        if: { required: ['a'] },
        // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
        then: { properties: { a: { const: 1 }, b: { type: 'string' } }, required: ['b'] },
      },
      { ...none, description: '(if: {"required":["a"]})', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    ],
    [
      'an argument that must not be there',
      { type: 'object', properties: { a: false, b: { type: 'string' } }, required: ['a'] },
      { ...none, properties: { b: { type: 'string' } } },
    ],
    [
      'a map that says its type within properties',
      { type: 'object', properties: { a: { type: 'string' }, type: 'object' } },
      { ...none, properties: { a: { type: 'string' }, type: { anyOf: ANYTHING } } },
    ],
  ])('%s', (_, given, expected) => {
    expect(schemaOf(given)).toEqual(expected);
  });

  it.each<[string, unknown, string]>([
    ['a text', 'object', 'its input schema is a string, not a map'],
    ['a list', [], 'its input schema is a list, not a map'],
    ['a number', 7, 'its input schema is a number, not a map'],
    ['false', false, 'its input schema is a boolean, not a map'],
    ['arguments that are a text', { type: 'string' }, 'its arguments are of type string, not object'],
    ['arguments that are a list', { items: {} }, 'its arguments are of type array, not object'],
    ['options of which none is an object', { anyOf: [{ type: 'string' }, { type: 'number' }] }, 'its arguments must be an object'],
    ['allOf that doubles', { type: 'object', properties: { a: wide(30, 'allOf') } }, 'its input schema is larger than 32768 characters'],
    [
      'more than anybody reads',
      { type: 'object', properties: Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`a${at}`, { type: 'string' }])) },
      'its input schema is larger than 32768 characters',
    ],
  ])('cannot be sent: %s', (_, given, problem) => {
    expect(sentSchema(given)).toEqual({ problem });
  });
});

describe('V2: an argument', () => {
  it.each<[string, unknown, unknown]>([
    ['of any kind', {}, { anyOf: ANYTHING }],
    ['true', true, { anyOf: ANYTHING }],
    ['that is no schema', 'string', { anyOf: ANYTHING }],
    ['described only', { description: 'What.' }, { anyOf: told('What.') }],
    ['of a type that nobody knows', { type: 'thing', description: 'What.' }, { anyOf: told('What.') }],
    ['with a title', { type: 'string', title: 'Name' }, { type: 'string', description: 'Name' }],
    ['with a description that is null', { type: 'string', description: null }, { type: 'string' }],
    ['that may be null', { type: ['string', 'null'] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      'nullable',
      { type: 'string', nullable: true, description: 'N.' },
      { anyOf: [{ type: 'string', description: 'N.' }, { type: 'null' }] },
    ],
    [
      'nullable, as generators write it',
      { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'T' },
      { anyOf: [{ type: 'string', description: 'T (default: null)' }, { type: 'null' }] },
    ],
    ['that may be left out, as generators write it', { anyOf: [{ not: {} }, { type: 'number' }] }, { type: 'number' }],
    [
      'of two types with their own keywords',
      { type: ['string', 'array'], items: { type: 'integer' }, minLength: 2 },
      {
        anyOf: [
          { type: 'string', minLength: 2 },
          { type: 'array', items: { type: 'integer' } },
        ],
      },
    ],
    ['oneOf', { oneOf: [{ type: 'string' }, { type: 'boolean' }] }, { anyOf: [{ type: 'string' }, { type: 'boolean' }] }],
    [
      'options within options',
      { anyOf: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'string' }, { type: 'number' }] },
      { anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'number' }] },
    ],
    ['one option', { anyOf: [{ type: 'string', description: 'A.' }] }, { type: 'string', description: 'A.' }],
    ['no option', { anyOf: [], type: 'string' }, { type: 'string' }],
    [
      'allOf of scalars',
      { allOf: [{ type: 'string' }, { minLength: 1 }, { description: 'A.' }] },
      { type: 'string', description: 'A.', minLength: 1 },
    ],
    [
      'an object of which one part is needed',
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { type: 'object', description: '(needs a, or b)', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    ],
    [
      'an object with variants',
      {
        type: 'object',
        properties: { k: { type: 'string' } },
        oneOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'string' } } }],
      },
      {
        anyOf: [
          { type: 'object', properties: { k: { type: 'string' }, a: { type: 'string' } } },
          { type: 'object', properties: { k: { type: 'string' }, b: { type: 'string' } } },
        ],
      },
    ],
    ['an object of anything', { type: 'object', additionalProperties: true }, { type: 'object' }],
    [
      'a map',
      { type: 'object', additionalProperties: { type: 'string' }, description: 'Env.' },
      { type: 'object', description: 'Env. (additionalProperties: {"type":"string"})' },
    ],
    ['patternProperties', { patternProperties: { '^x-': {} } }, { type: 'object', description: '(patternProperties: {"^x-":{}})' }],
    ['an array without items', { type: 'array' }, { type: 'array', items: { anyOf: [...ANY, { type: 'object' }] } }],
    ['an array of anything', { type: 'array', items: true }, { type: 'array', items: { anyOf: ANYTHING } }],
    ['an array of nothing', { type: 'array', items: false }, { type: 'array', items: { anyOf: [...ANY, { type: 'object' }] } }],
    [
      'a tuple of draft 7',
      { type: 'array', items: [{ type: 'number' }, { type: 'string' }], additionalItems: false },
      { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'string' }] } },
    ],
    [
      'a tuple of 2020',
      { prefixItems: [{ type: 'number' }, { type: 'number' }], minItems: 2, maxItems: 2 },
      {
        type: 'array',
        description: '(prefixItems: [{"type":"number"},{"type":"number"}])',
        items: { type: 'number' },
        minItems: 2,
        maxItems: 2,
      },
    ],
    [
      'a list in a type list',
      { type: ['string', 'array'] },
      { anyOf: [{ type: 'string' }, { type: 'array', items: { anyOf: [...ANY, { type: 'object' }] } }] },
    ],
    ['an enum without a type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['an enum with an empty text', { type: 'string', enum: ['', 'a'] }, { type: 'string', description: '(enum: ["","a"])', enum: ['a'] }],
    ['an enum with null', { type: ['string', 'null'], enum: ['a', null] }, { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }],
    ['an enum of numbers', { type: 'integer', enum: [60, 1440] }, { type: 'integer', description: '(enum: [60,1440])' }],
    [
      'an enum of several kinds',
      { enum: ['auto', 1] },
      { anyOf: [{ type: 'string', description: '(enum: ["auto",1])', enum: ['auto'] }, { type: 'integer' }] },
    ],
    ['an empty enum', { type: 'string', enum: [] }, { type: 'string' }],
    ['a constant', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['a constant that is a number', { const: 5 }, { type: 'integer', description: '(const: 5)' }],
    ['constants to choose from', { anyOf: [{ const: 'a' }, { const: 'b' }] }, { type: 'string', enum: ['a', 'b'] }],
    [
      'a pattern that others cannot read',
      { type: 'string', pattern: '^(?!x)\\p{L}+$' },
      { type: 'string', description: '(pattern: "^(?!x)\\\\p{L}+$")' },
    ],
    ['a format', { type: 'string', format: 'uri', description: 'Where.' }, { type: 'string', description: 'Where. (format: "uri")' }],
    ['a date', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    [
      'exclusive bounds',
      { type: 'number', exclusiveMinimum: 0, maximum: 5 },
      { type: 'number', description: '(exclusiveMinimum: 0)', maximum: 5 },
    ],
    [
      'exclusive bounds of draft 4',
      { type: 'number', minimum: 0, exclusiveMinimum: true },
      { type: 'number', description: '(exclusiveMinimum: true)', minimum: 0 },
    ],
    ['bounds that are none', { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, { type: 'integer' }],
    ['bounds that are texts', { type: 'string', minLength: '1', maxLength: -1 }, { type: 'string' }],
    ['a default', { type: 'integer', default: 10, description: 'How many.' }, { type: 'integer', description: 'How many. (default: 10)' }],
    ['a default that is undefined', { type: 'integer', default: undefined }, { type: 'integer' }],
    ['a default that is long', { type: 'string', default: 'x'.repeat(500) }, { type: 'string' }],
    ['examples', { type: 'string', examples: ['a'] }, { type: 'string', description: '(examples: ["a"])' }],
    [
      'keywords of others',
      { type: 'string', 'x-order': 1, optional: true, $comment: 'c', readOnly: true, contentEncoding: 'base64' },
      { type: 'string' },
    ],
    ['required: true, of draft 3', { type: 'string', required: true }, { type: 'string' }],
    ['a long description', { type: 'string', description: 'x'.repeat(5000) }, { type: 'string', description: 'x'.repeat(1000) }],
    ['a reference elsewhere', { $ref: 'https://example.org/a.json' }, { anyOf: told('$ref: "https://example.org/a.json"') }],
    ['a reference to nothing', { $ref: '#/$defs/none', description: 'Own.' }, { anyOf: told('Own.') }],
    ['a reference that is no text', { $ref: 7, type: 'string' }, { type: 'string', description: '$ref: 7' }],
  ])('%s', (_, given, expected) => {
    expect(argument(given)).toEqual(expected);
  });

  it.each<[string, unknown, object, unknown]>([
    [
      'a reference with words of its own',
      { $ref: '#/$defs/A', description: 'Own.' },
      { $defs: { A: { type: 'string', description: 'Its.' } } },
      { type: 'string', description: 'Own.' },
    ],
    [
      'a reference to another argument',
      { type: 'array', items: { $ref: '#/definitions/h/properties/in' } },
      { definitions: { h: { properties: { in: { type: 'number' } } } } },
      { type: 'array', items: { type: 'number' } },
    ],
    ['a reference with escapes', { $ref: '#/$defs/a~1b%20c' }, { $defs: { 'a/b c': { type: 'boolean' } } }, { type: 'boolean' }],
    [
      'a reference that leads in a circle',
      { $ref: '#/$defs/A' },
      { $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } },
      { type: 'object' },
    ],
    [
      'a tree',
      { $ref: '#/$defs/Node' },
      { $defs: { Node: tree } },
      { type: 'object', properties: { name: { type: 'string' }, children: { type: 'array', items: { type: 'object' } } } },
    ],
  ])('%s', (_, given, more, expected) => {
    expect(argument(given, more)).toEqual(expected);
  });
});

describe('V2: whatever a stranger writes', () => {
  const strange: readonly (readonly [string, unknown])[] = [
    ['forty levels', { type: 'object', properties: { a: deep(40) } }],
    ['a text of 20,000 levels', JSON.parse(`${'{"allOf":['.repeat(20_000)}{}${']}'.repeat(20_000)}`) as unknown],
    ['anyOf that doubles', { type: 'object', properties: { a: wide(30, 'anyOf') } }],
    [
      'references that double',
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/d0' } },
        $defs: Object.fromEntries(
          Array.from({ length: 30 }, (_, at) => [
            `d${at}`,
            { type: 'object', properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } } },
          ]),
        ),
      },
    ],
    [
      'an argument named __proto__',
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},"required":["__proto__","toString"]}',
      ) as unknown,
    ],
    ['letters that move what is shown', { type: 'object', properties: { a: { type: 'string', description: 'x\u001b[2J\u202e' } } }],
  ];

  it.each(strange)('what is sent is taken by all, and small: %s', (_, given) => {
    const sent = sentSchema(given);
    if ('problem' in sent) throw new Error(sent.problem);
    expect(refusals(sent.schema)).toEqual([]);
    expect(JSON.stringify(sent.schema).length).toBe(sent.size);
    expect(sent.size).toBeLessThan(32_769);
    expect(JSON.stringify(sent.schema)).not.toMatch(/u001b|\u202e/);
  });

  it('holds for anything that JSON can say; what is sent can be sent', () => {
    const names = fc.constantFrom('a', 'b', 'filter[id]', '', '__proto__', 'x'.repeat(70));
    const { node } = fc.letrec<{ readonly node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.jsonValue({ maxDepth: 1 }),
        fc.record(
          {
            type: fc.oneof(
              fc.constantFrom('object', 'array', 'string', 'integer', 'nonsense'),
              fc.constant(['string', 'null']),
              fc.jsonValue({ maxDepth: 0 }),
            ),
            properties: fc.dictionary(names, tie('node'), { maxKeys: 3 }),
            required: fc.array(names),
            items: fc.oneof(tie('node'), fc.array(tie('node'), { maxLength: 2 })),
            anyOf: fc.array(tie('node'), { maxLength: 3 }),
            allOf: fc.array(tie('node'), { maxLength: 2 }),
            $ref: fc.constantFrom('#', '#/properties/a', '#/$defs/none', 'other'),
            enum: fc.array(fc.jsonValue({ maxDepth: 0 }), { maxLength: 3 }),
            const: fc.jsonValue({ maxDepth: 1 }),
            default: fc.jsonValue({ maxDepth: 1 }),
            minimum: fc.oneof(fc.double(), fc.constant('1')),
            description: fc.oneof(fc.string(), fc.constant(null)),
            nullable: fc.boolean(),
          },
          { requiredKeys: [] },
        ),
      ),
    }));
    const check = (given: unknown): void => {
      const sent = sentSchema(given);
      const schema = 'problem' in sent ? none : sent.schema;
      expect(refusals(schema)).toEqual([]);
      expect(sentSchema(schema)).toMatchObject({ names: new Map() });
    };
    fc.assert(fc.property(node, check), { numRuns: process.env['PITH_TEST_LONG'] === undefined ? 300 : 20_000 });
  });
});

describe('V2: names of arguments that a provider refuses', () => {
  const given = {
    type: 'object',
    properties: {
      'filter[id]': { type: 'string' },
      filter_id_: { type: 'number' },
      'filter(id)': {},
      größe: {},
      ['n'.repeat(80)]: {},
      ok: {},
    },
    required: ['filter[id]', 'ok'],
  };

  it('are sent under others, distinct, and come back as they are', () => {
    const sent = sentSchema(given);
    if ('problem' in sent) throw new Error(sent.problem);
    expect(Object.keys(sent.schema['properties'] as Map)).toEqual([
      'filter_id__2',
      'filter_id_',
      'filter_id__3',
      'gr__e',
      'n'.repeat(64),
      'ok',
    ]);
    expect(sent.schema['required']).toEqual(['filter_id__2', 'ok']);
    expect(ownNames({ filter_id__2: 1, filter_id_: 2, gr__e: 3, ok: 4, new: 5 }, sent.names)).toEqual({
      'filter[id]': 1,
      filter_id_: 2,
      größe: 3,
      ok: 4,
      new: 5,
    });
  });
});

describe('V12: a budget', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 7 }, (_, at) => [
      `d${at}`,
      at === 6 ? { type: 'string' } : { anyOf: Array.from({ length: 6 }, () => ({ $ref: `#/$defs/d${at + 1}` })) },
    ]),
  );
  const doubling = { type: 'object', properties: { x: { $ref: '#/$defs/d0' } }, $defs };

  it('V10: references to the same are worked out once', () => {
    const work = workOfSource();
    const before = work.left;
    expect(sentSchema(doubling, work)).toMatchObject({ schema: { properties: { x: {} } } });
    expect(before - work.left).toBeLessThan(2000);
  });

  it('V10 V12: what the schemas of one source cost is bounded in all; the next is refused, whatever it is', () => {
    const work = { left: 1000 };
    const allOf = Array.from({ length: 50 }, () => ({ properties: { a: { type: 'string' } } }));
    const given = { type: 'object', properties: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, { allOf }])) };
    const problem = 'its input schema, with all before it, takes too long to read';
    expect(sentSchema(given, work)).toEqual({ problem });
    expect(work.left).toBeGreaterThan(-1000);
    expect(sentSchema({ type: 'object', properties: { a: {} } }, work)).toEqual({ problem });
  });

  it('V10: a text counts as often as it is referred to', () => {
    const $large = { large: { type: 'string', enum: ['x'.repeat(200_000)] } };
    const properties = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`p${at}`, { $ref: '#/$defs/large' }]));
    const work = workOfSource();
    expect(sentSchema({ type: 'object', properties, $defs: $large }, work)).toHaveProperty('problem');
    expect(workOfSource().left - work.left).toBeLessThan(100_000);
  });

  it.each([
    [[10, 20], 100, [10, 20]],
    [[10, 500, 300], 210, [10, 100, 100]],
    [[100, 100, 100], 100, [33, 33, 34]],
    [[], 5, []],
  ])('who has little keeps it: %j within %i', (sizes, all, expected) => {
    const groups = sizes.map((size) => Array.from({ length: size }, (_, at) => at));
    expect(withinBounds(groups, [{ all, of: () => 1 }]).map(({ length }) => length)).toEqual(expected);
  });
});
