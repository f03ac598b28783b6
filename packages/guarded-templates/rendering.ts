import { acceptedTemplate, type TemplateNode } from './accepted.ts';
import { applyFilter, applyTest, compared, globalsOf, type Comparison } from './filters.ts';
import { TemplateProblem, type TemplateVariables } from './template.ts';
import {
  atMost,
  Budget,
  Callable,
  isList,
  isMap,
  joined,
  listOf,
  mapOf,
  memberOf,
  numberOf,
  plainOf,
  TEXT_LIMIT,
  textOf,
  type Value,
} from './values.ts';

/**
 * The text of an accepted template. It is walked, never compiled: nothing of it becomes code. Throws `TemplateProblem` with the line, also
 * when it takes more than the bounds of values.ts.
 */
export function renderAccepted(text: string, variables: TemplateVariables, closed: readonly string[]): string {
  const { root, problems } = acceptedTemplate(text, variables, closed);
  if (root === null) throw problems[0];
  const budget = new Budget();
  const globals = new Scope(null);
  for (const [name, value] of globalsOf(budget)) globals.define(name, value);
  for (const [name, value] of Object.entries(variables)) globals.define(name, typeof value === 'string' ? value : copied(value));
  return new Run(budget, globals).text([root], new Scope(globals));
}

/** Of texts alone. */
function copied(record: object): Value {
  return mapOf(Object.entries(record).filter(([, value]) => typeof value === 'string'));
}

/** Names and what they stand for, inside others. */
class Scope {
  readonly #own = new Map<string, Value>();
  readonly #outer: Scope | null;
  /** What is set in here stays in here: a macro. */
  readonly #isClosed: boolean;

  constructor(outer: Scope | null, isClosed = false) {
    this.#outer = outer;
    this.#isClosed = isClosed;
  }

  get(name: string): Value {
    return this.#own.has(name) ? this.#own.get(name) : this.#outer?.get(name);
  }

  define(name: string, value: Value): void {
    this.#own.set(name, value);
  }

  /** Where it is already; else here. */
  set(name: string, value: Value): void {
    (this.#holder(name) ?? this).define(name, value);
  }

  #holder(name: string): Scope | null {
    if (this.#own.has(name)) return this;
    return this.#isClosed || this.#outer === null ? null : this.#outer.#holder(name);
  }
}

class Run {
  readonly #budget: Budget;
  readonly #globals: Scope;
  /** What is set outside of loops and macros: macros see it. */
  #top: Scope | undefined;

  constructor(budget: Budget, globals: Scope) {
    this.#budget = budget;
    this.#globals = globals;
  }

  text(nodes: readonly TemplateNode[], scope: Scope): string {
    this.#top ??= scope;
    const pieces: string[] = [];
    let length = 0;
    const print = (text: string): void => {
      length += text.length;
      atMost(length, TEXT_LIMIT, 'characters of text');
      this.#budget.forText(text.length);
      pieces.push(text);
    };
    for (const node of nodes) this.#print(node, scope, print);
    return pieces.join('');
  }

  #print(node: TemplateNode, scope: Scope, print: (text: string) => void): void {
    try {
      this.#budget.deeper(() => this.#statement(node, scope, print));
    } catch (error) {
      if (error instanceof TemplateProblem) throw error;
      const place = { line: (node.lineno ?? 0) + 1, column: (node.colno ?? 0) + 1 };
      throw new TemplateProblem(error instanceof Error ? error.message : String(error), { ...place, cause: error });
    }
  }

  #statement(node: TemplateNode, scope: Scope, print: (text: string) => void): void {
    const inside = (field: string, within: Scope): void => {
      const part = node[field] as TemplateNode | null | undefined;
      if (part) this.#print(part, within, print);
    };
    switch (node.typename) {
      case 'Root':
      case 'NodeList':
        for (const child of node.children ?? []) this.#print(child, scope, print);
        return;
      case 'Output':
        for (const child of node.children ?? []) print(this.#shown(child, scope));
        return;
      case 'If':
        return inside(this.#value(node['cond'] as TemplateNode, scope) ? 'body' : 'else_', scope);
      case 'For':
        return this.#loop(node, scope, inside);
      case 'Set':
        return this.#set(node, scope);
      case 'Macro':
        return scope.define(nameOf(node['name']), this.#macro(node, this.#top ?? this.#globals));
      case 'Block':
        return inside('body', new Scope(scope, true));
      default:
        throw new TypeError(`a ${node.typename} cannot be used here`);
    }
  }

  #shown(node: TemplateNode, scope: Scope): string {
    if (node.typename === 'TemplateData') return String(node.value);
    const value = this.#value(node, scope);
    if (value === undefined || value === null) throw new TypeError('it has no value to print');
    return textOf(value, this.#budget);
  }

  #loop(node: TemplateNode, scope: Scope, inside: (field: string, within: Scope) => void): void {
    const over = this.#value(node['arr'] as TemplateNode, scope);
    const target = node['name'] as TemplateNode;
    const names = target.typename === 'Array' ? (target.children ?? []).map(nameOf) : [nameOf(target)];
    const rounds = this.#rounds(over, names.length);
    if (rounds.length === 0) return inside('else_', scope);
    const within = new Scope(scope);
    const last = rounds.length - 1;
    for (const [index, values] of rounds.entries()) {
      this.#budget.spend(1);
      for (const [at, name] of names.entries()) within.define(name, values[at]);
      within.define(
        'loop',
        mapOf([
          ['index', index + 1],
          ['index0', index],
          ['revindex', last - index + 1],
          ['revindex0', last - index],
          ['first', index === 0],
          ['last', index === last],
          ['length', rounds.length],
        ]),
      );
      inside('body', within);
    }
  }

  /** What the names of a loop stand for in each round; taken before the first, so that a loop that changes its list ends. */
  #rounds(over: Value, names: number): readonly (readonly Value[])[] {
    if (isMap(over)) {
      const entries = names === 2 ? Object.entries(over) : [];
      this.#budget.forList(entries.length);
      return entries;
    }
    if (typeof over === 'string' && names === 1) {
      this.#budget.forText(over.length);
      return listOf(over.split(''), this.#budget).map((character) => [character]);
    }
    if (!isList(over)) return [];
    listOf(over, this.#budget);
    return names === 1 ? over.map((item) => [item]) : over.map((item) => (isList(item) ? item.slice(0, names) : []));
  }

  #set(node: TemplateNode, scope: Scope): void {
    const { value } = node;
    const given = value ? this.#value(value as TemplateNode, scope) : this.#value(node['body'] as TemplateNode, scope);
    for (const target of node['targets'] as readonly TemplateNode[]) scope.set(nameOf(target), given);
  }

  /** A macro, or what a `call` hands to one: it sees `outer` and changes nothing there. */
  #macro(node: TemplateNode, outer: Scope): Callable {
    const given = (node['args'] as TemplateNode).children ?? [];
    const names = given.filter(({ typename }) => typename === 'Symbol').map(nameOf);
    const defaults = given.filter(({ typename }) => typename === 'KeywordArgs').flatMap(({ children }) => children ?? []);
    return new Callable((args, named) => {
      const scope = new Scope(outer, true);
      const value = (name: string, at: number): Value => (at < args.length ? args[at] : named.get(name));
      for (const [at, name] of names.entries()) scope.define(name, value(name, at));
      for (const [at, pair] of defaults.entries()) {
        const name = nameOf(pair['key']);
        const isGiven = names.length + at < args.length || named.has(name);
        scope.define(name, isGiven ? value(name, names.length + at) : this.#value(pair['value'] as TemplateNode, scope));
      }
      if (named.has('caller')) scope.define('caller', named.get('caller'));
      return this.text([node['body'] as TemplateNode], scope);
    });
  }

  #value(node: TemplateNode, scope: Scope): Value {
    return this.#budget.deeper(() => this.#evaluated(node, scope));
  }

  #evaluated(node: TemplateNode, scope: Scope): Value {
    const budget = this.#budget;
    const of = (field: string): Value => this.#value(node[field] as TemplateNode, scope);
    const number = (field: string): number => numberOf(of(field), budget);
    switch (node.typename) {
      case 'Literal':
        return node.value;
      case 'Symbol':
        return scope.get(String(node.value));
      case 'Group':
        return (node.children ?? []).map((child) => this.#value(child, scope)).at(-1);
      case 'Array':
        return listOf((node.children ?? []).map((child) => this.#value(child, scope)), budget); // prettier-ignore
      case 'Dict':
        return mapOf((node.children ?? []).map((pair) => [keyOf(pair), this.#value(pair['value'] as TemplateNode, scope)] as const));
      case 'LookupVal':
        return memberOf(of('target'), of('val'), budget);
      case 'InlineIf':
        return of('cond') ? of('body') : node['else_'] ? of('else_') : '';
      case 'FunCall':
        return this.#called(node, scope);
      case 'Filter': {
        const { args, named } = this.#arguments(node, scope);
        return applyFilter(nameOf(node['name']), args, named, budget);
      }
      case 'Is':
        return this.#tested(node, scope);
      case 'Capture':
        return this.text([node['body'] as TemplateNode], scope);
      case 'Caller':
        return this.#macro(node, scope);
      case 'Compare':
        return this.#compared(node, scope);
      case 'In':
        return isIn(of('left'), of('right'), budget);
      case 'Or':
        return of('left') || of('right');
      case 'And':
        return of('left') && of('right');
      case 'Not':
        return !of('target');
      case 'Neg':
        return -number('target');
      case 'Pos':
        return number('target');
      case 'Add': {
        const [left, right] = [plainOf(of('left'), budget), plainOf(of('right'), budget)];
        if (typeof left !== 'string' && typeof right !== 'string') return Number(left) + Number(right);
        return joined([String(left), String(right)], '', budget);
      }
      case 'Concat':
        return joined([String(plainOf(of('left'), budget)), String(plainOf(of('right'), budget))], '', budget);
      case 'Sub':
        return number('left') - number('right');
      case 'Mul':
        return number('left') * number('right');
      case 'Div':
        return number('left') / number('right');
      case 'FloorDiv':
        return Math.floor(number('left') / number('right'));
      case 'Mod':
        return number('left') % number('right');
      case 'Pow':
        return number('left') ** number('right');
      default:
        throw new TypeError(`a ${node.typename} has no value`);
    }
  }

  #called(node: TemplateNode, scope: Scope): Value {
    const callee = this.#value(node['name'] as TemplateNode, scope);
    if (!(callee instanceof Callable)) throw new TypeError(`${spoken(node['name'] as TemplateNode)} cannot be called`);
    const { args, named } = this.#arguments(node, scope);
    const result = callee.call(args, named);
    if (typeof result === 'string') this.#budget.forText(result.length);
    return isList(result) ? listOf(result, this.#budget) : result;
  }

  #arguments(node: TemplateNode, scope: Scope): { readonly args: readonly Value[]; readonly named: ReadonlyMap<string, Value> } {
    const args: Value[] = [];
    const named = new Map<string, Value>();
    for (const given of (node['args'] as TemplateNode).children ?? []) {
      if (given.typename !== 'KeywordArgs') args.push(this.#value(given, scope));
      else for (const pair of given.children ?? []) named.set(nameOf(pair['key']), this.#value(pair['value'] as TemplateNode, scope));
    }
    return { args, named };
  }

  #tested(node: TemplateNode, scope: Scope): boolean {
    const right = node['right'] as TemplateNode;
    const value = this.#value(node['left'] as TemplateNode, scope);
    if (right.typename === 'Literal') return applyTest('null', value, undefined, this.#budget);
    if (right.typename !== 'FunCall') return applyTest(nameOf(right), value, undefined, this.#budget);
    const { args } = this.#arguments(right, scope);
    return applyTest(nameOf(right['name']), value, args[0], this.#budget);
  }

  /** From left to right, as JavaScript compares: `1 < 2 < 3` compares true with 3. */
  #compared(node: TemplateNode, scope: Scope): Value {
    let left = this.#value(node['expr'] as TemplateNode, scope);
    for (const operand of node['ops'] as readonly TemplateNode[]) {
      const right = this.#value(operand['expr'] as TemplateNode, scope);
      left = this.#holds(left, String(operand['type']), right);
    }
    return left;
  }

  #holds(left: Value, operator: string, right: Value): boolean {
    switch (operator) {
      case '===':
        return left === right;
      case '!==':
        return left !== right;
      case '==':
        return isEqual(left, right);
      case '!=':
        return !isEqual(left, right);
      default:
        return compared(left, operator as Comparison, right, this.#budget);
    }
  }
}

/** Lists and maps equal themselves alone. */
function isEqual(left: Value, right: Value): boolean {
  const isPart = (value: Value): boolean => typeof value === 'object' && value !== null;
  // oxlint-disable-next-line eqeqeq -- the template's own operator, which takes '1' and 1 for equal
  return isPart(left) || isPart(right) ? left === right : left == right;
}

function isIn(value: Value, whole: Value, budget: Budget): boolean {
  if (isList(whole)) return listOf(whole, budget).includes(value);
  if (isMap(whole)) return Object.hasOwn(whole, textOf(value, budget));
  if (typeof whole !== 'string') throw new TypeError("'in' looks into a list, a map or a text");
  const part = textOf(value, budget);
  budget.forSearch(whole, part);
  return whole.includes(part);
}

function nameOf(node: unknown): string {
  return String((node as TemplateNode).value);
}

function keyOf(pair: TemplateNode): string {
  return String((pair['key'] as TemplateNode).value);
}

/** A called thing, for people. */
function spoken({ typename, value, val }: TemplateNode): string {
  const name = typename === 'Symbol' ? value : typename === 'LookupVal' ? (val as TemplateNode).value : undefined;
  return typeof name === 'string' ? `'${name.slice(0, 60)}'` : 'this';
}
