import * as module from 'nunjucks';
import { atMost, bounded, LIST_LIMIT, range, STEP_LIMIT } from './template-limits.ts';
import { memberOf } from './template-members.ts';

export interface TemplateEngine {
  readonly filters: readonly string[];
  readonly tests: readonly string[];
  parse(text: string): unknown;
  /** Throws what is wrong with the template, and when it takes more than the bounds of template-limits.ts. */
  render(text: string, variables: object): string;
}

let engine: TemplateEngine | undefined;

/** nunjucks, bound to data: a template reaches neither prototypes nor the engine, and a rendering ends. */
export function templateEngine(): TemplateEngine {
  return (engine ??= guarded((module as unknown as { readonly default: Nunjucks }).default));
}

type Operation = (this: unknown, ...args: unknown[]) => unknown;
type Table = Record<string, Operation>;

interface Environment {
  filters: Table;
  tests: Table;
  globals: Table;
  renderString(text: string, variables: object): string;
}

interface Frame {
  lookup(name: string): unknown;
}

interface Runtime {
  memberLookup(target: unknown, key: unknown): unknown;
  contextOrFrameLookup(context: { readonly ctx: object }, frame: Frame, name: string): unknown;
  callWrap(operation: unknown, name: string, context: unknown, args: readonly unknown[]): unknown;
  fromIterator(things: unknown): unknown;
}

interface Nunjucks {
  readonly runtime: Runtime;
  readonly parser: { parse(text: string): unknown };
  readonly Environment: new (loaders: [], options: { autoescape: boolean; throwOnUndefined: boolean }) => Environment;
}

function guarded({ runtime, parser, Environment }: Nunjucks): TemplateEngine {
  const environment = new Environment([], { autoescape: false, throwOnUndefined: true });
  // Without prototypes, so that `valueOf` and the like name nothing.
  environment.filters = tableOf(environment.filters, boundFilter);
  environment.tests = tableOf(environment.tests, (_name, test) => test);
  environment.globals = tableOf({ ...environment.globals, range }, (_name, global) => global);

  let steps = 0;
  const step = (count: number) => void (steps = atMost(steps + count, STEP_LIMIT, 'rounds of loops and calls'));
  const { callWrap, fromIterator } = runtime;
  runtime.memberLookup = memberOf;
  runtime.contextOrFrameLookup = ({ ctx }, frame, name) => {
    const value = frame.lookup(name);
    if (value !== undefined) return value;
    return Object.hasOwn(ctx, name) ? (ctx as Readonly<Record<string, unknown>>)[name] : environment.globals[name];
  };
  runtime.callWrap = (operation, name, _context, args) => {
    step(1);
    return bounded(callWrap(operation, name, Object.create(null), args)); // never the engine's context as `this`
  };
  runtime.fromIterator = (given) => {
    const things = bounded(fromIterator(given)); // what every kind of loop goes over
    step(lengthOf(things));
    return things;
  };

  return {
    filters: Object.keys(environment.filters),
    tests: Object.keys(environment.tests),
    parse: (text) => parser.parse(text),
    render(text, variables) {
      steps = 0;
      return bounded(environment.renderString(text, variables));
    },
  };
}

function tableOf(operations: Readonly<Table>, made: (name: string, operation: Operation) => Operation): Table {
  return Object.assign(Object.create(null), Object.fromEntries(Object.entries(operations).map(([name, each]) => [name, made(name, each)])));
}

/** Filters whose second value is how many: a width or a number of parts. */
const SIZED = new Set(['batch', 'center', 'indent', 'slice']);
/** Where filters that take an attribute have it; the engine would look it up on prototypes too. */
const ATTRIBUTE: Readonly<Record<string, number>> = { sum: 1, join: 2 };

function boundFilter(name: string, filter: Operation): Operation {
  const at = Object.hasOwn(ATTRIBUTE, name) ? ATTRIBUTE[name] : undefined;
  return function (...given) {
    const args = given.map(bounded);
    if (SIZED.has(name) && args[1] !== undefined) args[1] = atMost(Number(args[1]), LIST_LIMIT, `as the size of '${name}'`);
    if (at !== undefined && args[at] !== undefined && Array.isArray(args[0])) {
      const [list, attribute] = [args[0], args[at]];
      args[0] = list.map((item) => memberOf(item, attribute));
      args[at] = undefined;
    }
    return bounded(filter.apply(this, args));
  };
}

function lengthOf(things: unknown): number {
  if (typeof things === 'string' || Array.isArray(things)) return things.length;
  return typeof things === 'object' && things !== null ? Object.keys(things).length : 0;
}
