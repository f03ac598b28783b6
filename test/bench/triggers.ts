import { fold } from '../../sandbox/extensions/skill_triggers/phrase-index.ts';
import { PatternCache } from '../../sandbox/extensions/skill_triggers/pattern-cache.ts';
import { TriggerIndex } from '../../sandbox/extensions/skill_triggers/trigger-index.ts';
import { recordsOf, skillOf } from '../extensions/skill_registry/skill-values.ts';
import { type Bench, interleaved, timed } from './measure.ts';

const VERBS = ['extract', 'merge', 'write', 'copy', 'plan', 'convert', 'review', 'deploy', 'translate', 'sum'];
const THINGS = ['pdf', 'csv', 'invoice', 'contract', 'c++', '.net', 'node.js', 'diagram', '合同', 'release notes'];

/** The mode `triggers`: which of 1,000 skills a message brings. A third of them have a pattern. */
export const triggers: Bench = async ({ runs }) => {
  const skills = Array.from({ length: 1000 }, (_, at) =>
    skillOf(`skill-${at}`, {
      triggers: {
        keywords: [THINGS[at % 10]!, `topic ${at}`, `part-${at % 97}`],
        verbs: [VERBS[at % 7]!, VERBS[(at + 3) % 10]!],
        patterns: at % 3 === 0 ? [`\\b${VERBS[at % 10]!}\\w* .{0,40}item ${at}\\b`] : [],
      },
    }),
  );
  const records = recordsOf(skills);
  const patterns = new PatternCache();
  const index = await TriggerIndex.of(records, patterns);
  let turn = 0;
  const message = () => {
    const at = turn++;
    return `Please look at page ${at}: extracting the totals of topic ${at * 7}, then writing them to part-${at % 97} as C++ code for item ${at * 3}, thank you.`;
  };
  await index.match(message(), () => true);
  const matching = await interleaved(runs * 9, {
    floor: () => timed(() => fold(message()).split(/[^\p{L}\p{N}]+/u).length),
    measured: () => timed(() => index.match(message(), () => true)),
  });
  const making = await interleaved(runs, {
    floor: () => timed(() => new Map(skills.flatMap(({ triggers: own }) => own!.keywords.map((word) => [fold(word), own] as const))).size),
    measured: () => timed(() => TriggerIndex.of(records, patterns)),
  });
  return [
    { figure: 'message matched with the triggers of 1,000 skills', unit: 'ms', ...matching, must: 10, aim: 1 },
    { figure: 'triggers of 1,000 skills made ready after a change', unit: 'ms', ...making },
  ];
};
