/** The form under which an English word is indexed where the stemmer alone would tell two spellings or forms apart. */
export function wordForm(word: string): string {
  return FORMS.get(word) ?? word.replace(OUR, 'or$1').replace(ISE, 'iz$1').replace(LOGUE, 'log$1');
}

/** British and American spelling; words that only look so, such as exercise, change in texts and queries alike. */
const OUR = /(?<=[a-z]{2})our(s|ed|ing|al|ful|able|ite|ites)?$/;
const ISE = /(?<=[a-z]{3})is(e|ed|es|er|ers|ing|ation|ations)$/;
const LOGUE = /(?<=[a-z]{2})logue(s?)$/;

/** The first word of each line is the form of the others. */
const FORMS: ReadonlyMap<string, string> = new Map(
  `analyze analyse analysed analyses analysing analysis|
  artifact artefact artefacts|begin began begun|break broke broken|bring brought|build built|buy bought|catch caught|center centre centres|
  child children|choose chose chosen|come came|criterion criteria|draw drew drawn|drive drove driven|eat ate eaten|fall fell fallen|
  feed fed|feel felt|fiber fibre fibres|find found|fly flew flown|forget forgot forgotten|freeze froze frozen|grow grew grown|hear heard|hide hid hidden|
  hold held|index indices indexes|keep kept|know knew known|learn learnt|leave left|lend lent|license licence licences|liter litre litres|lose lost|
  make made|man men|matrix matrices|mean meant|meet met|meter metre metres|mouse mice|pay paid|person people persons|practice practise practised|
  program programme programmes|ride rode ridden|ring rang rung|run ran|say said|see saw seen|sell sold|send sent|shoot shot|show shown|sing sang sung|
  sleep slept|speak spoke spoken|spend spent|steal stole stolen|swim swam swum|take took taken|teach taught|tell told|theater theatre theatres|
  think thought|throw threw thrown|understand understood|vertex vertices|wake woke woken|wear wore worn|win won|woman women|write wrote written`
    .split('|')
    .flatMap((line) => {
      const [form = '', ...others] = line.trim().split(/\s+/);
      return others.map((other): [string, string] => [other, form]);
    }),
);
