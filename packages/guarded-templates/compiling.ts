import { didYouMean } from '@pith/plain-text';
import { FILTERS, FUNCTIONS, REPLACEMENTS, METHODS, TESTS } from './filters.ts';
import { parseTemplate, type TemplateNode } from './parsing.ts';
import { TemplateProblem, type TemplateVariables } from './template.ts';
import {
  Budget,
  checkLength,
  isEqual,
  isIn,
  isLess,
  isList,
  isMap,
  isTrue,
  itemsOf,
  joined,
  mapOf,
  memberOf,
  numberOf,
  spoken,
  sumOf,
  textOf,
  type Value,
} from './values.ts';

/** How deep the parts of a template may nest. */
const TREE_LIMIT = 200;
/** More findings help nobody, and the search for similar names stops at this many names. */
const MOST_FINDINGS = 20;
const MOST_SIMILAR = 500;
/** A name that a template may define. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** A template that is ready to render, or the problems that prevent it. */
interface Compiled {
  readonly problems: readonly TemplateProblem[];
  /** Throws the first problem, or a rendering error with its place. */
  render(): string;
}

/**
 * Turns each part of a template into a function of this file, and refuses a part for which there is none. No text of the template becomes
 * code.
 */
export function compiled(text: string, variables: TemplateVariables, closed: readonly string[]): Compiled {
  const compiler = new Compiler(variables, closed);
  const { problems } = compiler;
  let template: Part = () => undefined;
  try {
    template = compiler.part(parseTemplate(text));
    problems.push(...compiler.unknownNames());
  } catch (error) {
    if (error instanceof TemplateProblem) problems.push(error);
    else if (!(error instanceof Enough)) throw error;
  }
  problems.sort((a, b) => a.line - b.line || a.column - b.column).splice(MOST_FINDINGS);
  return {
    problems,
    render() {
      if (problems[0] !== undefined) throw problems[0];
      const run = new Run(variables);
      template(run);
      return run.printed();
    },
  };
}

/** Evaluates a part of a template. A statement prints and returns nothing. */
type Part = (run: Run) => Value;

/** One rendering. */
class Run {
  readonly budget = new Budget();
  /** A Map, so that no name reaches a prototype. */
  readonly names = new Map<string, Value>(CONSTANTS);
  #pieces: string[] = [];
  #length = 0;

  constructor(variables: TemplateVariables) {
    for (const [name, value] of Object.entries(variables)) this.names.set(name, typeof value === 'string' ? value : textsIn(value));
  }

  print(text: string): void {
    this.#length += text.length;
    checkLength(this.#length);
    this.budget.forText(text.length);
    this.#pieces.push(text);
  }

  printed(): string {
    return this.#pieces.join('');
  }

  /** What `body` prints, instead of printing it. */
  captured(body: Part): string {
    const outer = this.#pieces;
    this.#pieces = [];
    body(this);
    const text = this.printed();
    this.#pieces = outer;
    return text;
  }
}

const CONSTANTS: readonly (readonly [string, Value])[] = [
  ['True', true],
  ['False', false],
  ['None', null],
];
const LOOP_KEYS = ['index', 'index0', 'revindex', 'revindex0', 'first', 'last', 'length'];

/** The record with only its text values. */
function textsIn(record: object): Value {
  return mapOf(Object.entries(record).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** Syntax that nunjucks parses and templates may not use. */
const REFUSED: ReadonlyMap<string, readonly [what: string, cure: string]> = new Map([
  ['Macro', ['macro', 'write its text where it belongs']],
  ['Caller', ['call', 'write the text where it belongs']],
  ['Include', ['include', 'write the text into this template']],
  ['Import', ['import', 'write the text into this template']],
  ['FromImport', ['import', 'write the text into this template']],
  ['Extends', ['extends', 'write the text into this template']],
  ['Block', ['block', 'leave out its two tags']],
  ['Switch', ['switch', 'write if and elif']],
  ['IfAsync', ['ifAsync', 'write if']],
  ['AsyncEach', ['asyncEach', 'write for']],
  ['AsyncAll', ['asyncAll', 'write for']],
]);

const NUMERIC: ReadonlyMap<string, (left: number, right: number) => number> = new Map([
  ['Sub', (left: number, right: number) => left - right],
  ['Mul', (left: number, right: number) => left * right],
  ['Div', (left: number, right: number) => left / right],
  ['FloorDiv', (left: number, right: number) => Math.floor(left / right)],
  ['Mod', (left: number, right: number) => left % right],
  ['Pow', (left: number, right: number) => left ** right],
]);

/** All comparison operators of the parser. */
const COMPARISONS: ReadonlyMap<unknown, (left: Value, right: Value, budget: Budget) => boolean> = new Map([
  ['==', isEqual],
  ['===', isEqual],
  ['!=', (left, right, budget) => !isEqual(left, right, budget)],
  ['!==', (left, right, budget) => !isEqual(left, right, budget)],
  ['<', isLess],
  ['>', (left, right, budget) => isLess(right, left, budget)],
  ['<=', (left, right, budget) => !isLess(right, left, budget)],
  ['>=', (left, right, budget) => !isLess(left, right, budget)],
]);

class Compiler {
  readonly #variables: TemplateVariables;
  /** Variables whose keys are all known. */
  readonly #closed: readonly string[];
  /** The names in scope at the part that is being compiled. */
  readonly #known: Set<string>;
  /** Names that the template sets anywhere, or tests with `is defined`. */
  readonly #bound = new Set<string>();
  readonly #unknown: TemplateNode[] = [];
  readonly problems: TemplateProblem[] = [];
  #depth = 0;

  constructor(variables: TemplateVariables, closed: readonly string[]) {
    this.#variables = variables;
    this.#closed = closed;
    this.#known = new Set([...Object.keys(variables), ...CONSTANTS.map(([name]) => name)]);
  }

  /** Runs after all parts: only then all names that the template sets are known. */
  unknownNames(): readonly TemplateProblem[] {
    const all = [...Object.keys(this.#variables), ...this.#bound];
    const given = Object.keys(this.#variables).join(', ');
    const cure = `${given === '' ? '' : `use one of ${given}, or `}set it in the template`;
    const unknown = this.#unknown.filter(({ value }) => !this.#bound.has(String(value))).slice(0, MOST_FINDINGS);
    return unknown.map((node) => {
      const similar = all.length > MOST_SIMILAR ? '' : didYouMean(String(node.value), all);
      return problemAt(node, `'${String(node.value)}' is not known to the template${similar}`, { code: 'template_name_unknown', cure });
    });
  }

  /** Compiles a part and adds its place to errors. */
  part(node: unknown): Part {
    if (!isNode(node)) throw new TemplateProblem('a part of the template is missing');
    if ((this.#depth += 1) > TREE_LIMIT)
      throw problemAt(node, `parts of the template are nested deeper than ${TREE_LIMIT}`, { cure: 'write it in smaller steps, with set' });
    const work = this.#compiled(node);
    this.#depth -= 1;
    return (run) => {
      try {
        run.budget.spend(1);
        return work(run);
      } catch (error) {
        if (error instanceof TemplateProblem) throw error;
        throw problemAt(node, error instanceof Error ? error.message : String(error), { cause: error });
      }
    };
  }

  #compiled(node: TemplateNode): Part {
    switch (node.typename) {
      case 'Root':
      case 'NodeList': {
        const parts = this.#parts(node.children);
        return (run) => void parts.forEach((part) => part(run));
      }
      case 'Output': {
        const parts = this.#parts(node.children);
        return (run) => void parts.forEach((part) => run.print(textOf(part(run), run.budget)));
      }
      case 'TemplateData':
        return () => String(node.value);
      case 'Literal':
        return this.#literal(node);
      case 'Symbol':
        return this.#symbol(node);
      case 'Group':
      case 'Array': {
        const parts = this.#parts(node.children);
        const only = node.typename === 'Group' && parts.length === 1 ? parts[0] : undefined;
        return only ?? ((run) => parts.map((part) => part(run)));
      }
      case 'Dict':
        return this.#map(node);
      case 'LookupVal': {
        this.#checkKey(node);
        const [target, key] = [this.part(node['target']), this.part(node['val'])];
        return (run) => memberOf(target(run), key(run));
      }
      case 'If':
      case 'InlineIf': {
        const [condition, body] = [this.part(node['cond']), this.part(node['body'])];
        const otherwise = node['else_'] ? this.part(node['else_']) : () => '';
        return (run) => (isTrue(condition(run)) ? body(run) : otherwise(run));
      }
      case 'For':
        return this.#loop(node);
      case 'Set':
        return this.#set(node);
      case 'Capture': {
        const body = this.part(node['body']);
        return (run) => run.captured(body);
      }
      case 'Filter':
      case 'FunCall':
        return this.#called(node);
      case 'Is':
        return this.#tested(node);
      case 'Compare':
        return this.#compared(node);
      case 'Not': {
        const target = this.part(node['target']);
        return (run) => !isTrue(target(run));
      }
      case 'Neg':
      case 'Pos': {
        const target = this.part(node['target']);
        return (run) => numberOf(target(run)) * (node.typename === 'Neg' ? -1 : 1);
      }
      default:
        return this.#ofTwo(node);
    }
  }

  #ofTwo(node: TemplateNode): Part {
    const calculate = NUMERIC.get(node.typename);
    if (calculate === undefined && !['And', 'Or', 'In', 'Concat', 'Add'].includes(node.typename)) {
      const [what, cure] = REFUSED.get(node.typename) ?? [node.typename, 'take it out'];
      return this.#refused(node, `a template cannot use ${what}`, cure);
    }
    const [left, right] = [this.part(node['left']), this.part(node['right'])];
    switch (node.typename) {
      case 'And':
      case 'Or':
        return (run) => {
          const value = left(run);
          return isTrue(value) === (node.typename === 'And') ? right(run) : value;
        };
      case 'In':
        return (run) => isIn(left(run), right(run), run.budget);
      case 'Concat':
        return (run) => joined([left(run), right(run)], '', run.budget);
      case 'Add':
        return (run) => sumOf(left(run), right(run), run.budget);
      default:
        return (run) => numberOf(calculate!(numberOf(left(run)), numberOf(right(run))));
    }
  }

  #literal(node: TemplateNode): Part {
    const { value } = node;
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return () => value as Value;
    return this.#refused(node, 'a template cannot use a regular expression', 'compare or replace plain texts');
  }

  #symbol(node: TemplateNode): Part {
    const name = this.#name(node, node, 'the name');
    if (name !== '' && !this.#known.has(name)) this.#unknown.push(node);
    return (run) => run.names.get(name);
  }

  #map(node: TemplateNode): Part {
    const pairs = nodesIn(node.children).map((pair) => {
      const name = textIn(pair['key'], 'Literal') || this.#name(pair['key'], pair, 'the key');
      return [name, this.part(pair['value'])] as const;
    });
    return (run) => mapOf(pairs.map(([name, value]) => [name, value(run)] as const));
  }

  /** Checks a literal key of a variable whose keys are all known. */
  #checkKey(node: TemplateNode): void {
    const [variable, key] = [textIn(node['target'], 'Symbol'), textIn(node['val'], 'Literal')];
    const isClosed = this.#closed.includes(variable);
    if (key === '' || !(isClosed || variable === 'loop')) return;
    const keys = isClosed ? Object.keys(this.#variables[variable] ?? {}) : LOOP_KEYS;
    if (keys.includes(key)) return;
    const name = key.slice(0, 64);
    this.#report(node, `there is no ${variable}['${name}']${didYouMean(name, keys)}`, {
      code: 'template_name_unknown',
      cure: `use one of ${keys.join(', ')}`,
      key: isClosed ? name : undefined,
    });
  }

  #set(node: TemplateNode): Part {
    const targets = nodesIn(node['targets']);
    const name = this.#name(targets[0], node, 'what is set');
    if (targets.length !== 1) return this.#refused(node, 'set gives a value to one name', 'write one set for each');
    this.#bound.add(name);
    const value = this.part(node['value'] ?? node['body']);
    return (run) => void run.names.set(name, value(run));
  }

  #loop(node: TemplateNode): Part {
    const { name: target, arr } = node;
    const targets = isNode(target) && target.typename === 'Array' ? nodesIn(target.children) : [target];
    const names = targets.map((each) => this.#name(each, node, 'the target of the loop'));
    // nunjucks parses `list if condition` as one value.
    const filtered = isNode(arr) && arr.typename === 'InlineIf' ? arr : null;
    if (filtered?.['else_'])
      return this.#refused(node, 'it is not clear what the else in this loop belongs to', 'put brackets around a if b else c');
    const list = this.part(filtered ? filtered['body'] : arr);
    const condition = filtered && this.#within(names, () => this.part(filtered['cond']));
    const body = this.#within([...names, 'loop'], () => this.part(node['body']));
    const otherwise = node['else_'] ? this.part(node['else_']) : () => undefined;
    return (run) => {
      const bind = (values: readonly Value[]): void => names.forEach((name, at) => run.names.set(name, values[at]));
      const before = [...names, 'loop'].map((name) => [name, run.names.get(name)] as const);
      const rounds = roundsOf(list(run), names.length, run.budget).filter((values) => {
        if (condition === null) return true;
        bind(values);
        return isTrue(condition(run));
      });
      rounds.forEach((values, index) => {
        bind(values);
        run.names.set('loop', placeIn(rounds.length, index));
        run.budget.spend(1);
        body(run);
      });
      for (const [name, value] of before) run.names.set(name, value);
      if (rounds.length === 0) otherwise(run);
    };
  }

  /** The result of `compile` with `names` in scope. */
  #within<T>(names: readonly string[], compile: () => T): T {
    const added = names.filter((name) => !this.#known.has(name));
    for (const name of added) this.#known.add(name);
    const result = compile();
    for (const name of added) this.#known.delete(name);
    return result;
  }

  /** Compiles a call of a filter, method or function by its name. A template cannot use them as values. */
  #called(node: TemplateNode): Part {
    const { name: callee } = node;
    const of = isNode(callee) && callee.typename === 'LookupVal' ? callee : null;
    const [kind, callees] = node.typename === 'Filter' ? ['filter', FILTERS] : of ? ['method', METHODS] : ['function', FUNCTIONS];
    const name = textIn(of ? of['val'] : callee);
    const args = isNode(node['args']) ? nodesIn(node['args'].children) : [];
    const positional = args.filter(({ typename }) => typename !== 'KeywordArgs');
    const named = args.filter(({ typename }) => typename === 'KeywordArgs').flatMap(({ children }) => nodesIn(children));
    const target = of ? of['target'] : kind === 'filter' ? positional.shift() : undefined;
    const value: Part = target === undefined ? () => undefined : this.part(target);
    const found = callees.get(name);
    if (found === undefined) return this.#missing(node, kind, name, [...callees.keys()]);
    const { parameters, run: work } = found;
    const parts = positional.map((each) => this.part(each));
    if (parts.length > parameters.length)
      return this.#refused(node, `the ${kind} '${name}' takes ${parameters.length} values in brackets`, 'leave the rest out');
    for (const pair of named) {
      const keyword = textIn(pair['key']);
      if (!parameters.includes(keyword)) return this.#missing(pair, `argument of '${name}'`, keyword, parameters);
      parts[parameters.indexOf(keyword)] = this.part(pair['value']);
    }
    return (run) =>
      work(
        value(run),
        Array.from(parts, (part) => part?.(run)),
        run.budget,
      );
  }

  #tested(node: TemplateNode): Part {
    const { left, right } = node as TemplateNode & { readonly right: TemplateNode };
    const name = right.value === null ? 'none' : textIn(right['name'] ?? right);
    const test = TESTS.get(name);
    if (test === undefined) return this.#missing(node, 'test', name, [...TESTS.keys()]);
    if (right.typename === 'FunCall') return this.#refused(node, `the test '${name}' takes no brackets`, 'leave them out');
    if (name === 'defined' || name === 'undefined') this.#bound.add(textIn(left, 'Symbol'));
    const value = this.part(left);
    return (run) => test(value(run));
  }

  /** `1 < x < 3` is true where each comparison is. */
  #compared(node: TemplateNode): Part {
    const first = this.part(node['expr']);
    const others = nodesIn(node['ops']).map((operand) => [COMPARISONS.get(operand['type'])!, this.part(operand['expr'])] as const);
    return (run) => {
      let left = first(run);
      return others.every(([holds, operand]) => {
        const before = left;
        left = operand(run);
        return holds(before, left, run.budget);
      });
    };
  }

  #parts(nodes: unknown): readonly Part[] {
    return nodesIn(nodes).map((node) => this.part(node));
  }

  /** Empty for a node that is not a name, which is reported. */
  #name(node: unknown, at: TemplateNode, what: string): string {
    const given = isNode(node) && typeof node.value === 'string' ? node.value : '';
    if (isNode(node) && node.typename === 'Symbol' && NAME.test(given)) return given;
    const shown = given === '' ? '' : ` ${JSON.stringify(given.slice(0, 60))}`;
    this.#refused(isNode(node) ? node : at, `${what}${shown} is not a name`, 'use at most 64 letters, digits and _, and no digit first');
    return '';
  }

  #missing(node: TemplateNode, kind: string, name: string, names: readonly string[]): Part {
    const shown = name.slice(0, 64);
    const cure = REPLACEMENTS.get(name) ?? (names.length === 0 ? 'leave it out' : `use one of ${names.join(', ')}`);
    return this.#refused(node, `there is no ${kind} '${shown}'${didYouMean(shown, names)}`, cure);
  }

  #refused(node: TemplateNode, message: string, cure: string): Part {
    this.#report(node, message, { cure });
    return () => undefined;
  }

  #report(node: TemplateNode, message: string, rest: Rest): void {
    this.problems.push(problemAt(node, message, rest));
    if (this.problems.length === MOST_FINDINGS) throw new Enough();
  }
}

/** Thrown when enough problems are found. */
class Enough extends Error {}

type Rest = Omit<NonNullable<ConstructorParameters<typeof TemplateProblem>[1]>, 'line' | 'column'>;

function problemAt(node: TemplateNode, message: string, rest: Rest): TemplateProblem {
  return new TemplateProblem(message, { ...rest, line: (node.lineno ?? 0) + 1, column: (node.colno ?? 0) + 1 });
}

/** The values of the loop's names in each round. */
function roundsOf(over: Value, names: number, budget: Budget): readonly (readonly Value[])[] {
  const items = itemsOf(over, budget);
  if (names === 1) return items.map((item) => [item]);
  if (isMap(over) && names === 2) return Object.entries(over);
  return items.map((item) => {
    if (isList(item) && item.length === names) return item;
    throw new TypeError(`the loop has ${names} names, and ${spoken(item)} is not a list of that many`);
  });
}

function placeIn(length: number, index: number): Value {
  const values = [index + 1, index, length - index, length - index - 1, index === 0, index === length - 1, length];
  return mapOf(LOOP_KEYS.map((key, at) => [key, values[at]] as const));
}

function isNode(value: unknown): value is TemplateNode {
  return typeof value === 'object' && value !== null && typeof (value as { readonly typename?: unknown }).typename === 'string';
}

function nodesIn(value: unknown): readonly TemplateNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The literal text of a part; empty for any other part. */
function textIn(node: unknown, kind?: string): string {
  return isNode(node) && (kind === undefined || node.typename === kind) && typeof node.value === 'string' ? node.value : '';
}
