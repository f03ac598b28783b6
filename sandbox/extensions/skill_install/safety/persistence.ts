import { type NearbyRule, oneOf, type Sign, Sequence, warning } from './rules.ts';

const WARNS = warning('detects?|flags?|looks? (?:for|like)|looking for|malware|deny');

/** In what orders to be quiet, `never` is no warning. */
const TEACHES =
  /\b(?:detect|flag|flags|red flag|look(?:s|ing)? (?:for|like)|suspicious|malicious|attack\w*|malware|e\.g\.|such as|examples? of|inject\w*)\b/i;
const QUIETLY =
  /\b(?:silently|quietly|secretly|in the background|without (?:asking|showing|telling|mention\w*|confirm\w*|approval)|(?:never|do not|don't) (?:mention|show|tell|explain|reveal|display|ask)|always trust|>\s*\/dev\/null)\b/i;
const AGENT_MEMORY =
  /\b(?:SOUL|MEMORY|CLAUDE|AGENTS|GEMINI|USER|IDENTITY|HEARTBEAT|TOOLS|BOOTSTRAP|copilot-instructions|\.cursorrules)(?:\.local)?\.md\b|\.cursorrules\b/;
const WRITES = /\b(?:append|add|write|insert|copy|put|save|paste|store|replace|echo|tee|writeFile(?:Sync)?|write_text)\b|>>/i;
const AGENT_SETTINGS =
  /\.(?:claude|codex|gemini|cursor|openclaw|pith)(?:\.json\b|[\\/](?:settings(?:\.local)?\.json|config\.toml|config\.ya?ml|openclaw\.json|mcp\.json|[\w-]+\.json))|\bclaude_desktop_config\.json\b|\bpith\.yaml\b/i;
const WIDE =
  /\bbypassPermissions\b|["']?(?:Bash|Shell|Write|Edit)\(\*{1,2}(?::\*)?\)|\bapproval_policy\s*=\s*["']never|\bsandbox_mode\s*=\s*["']danger-full-access|["']?approvals?["']?\s*[:=]\s*["']?(?:never|off|false|none)|\bdangerously\w*["']?\s*[:=]\s*true|["']?security["']?\s*:\s*["']full["']/i;
const UNGUARDED = new Sequence(
  String.raw`\b(?:claude|codex|gemini|cursor-agent|copilot|opencode|aider|openclaw)\b`,
  120,
  String.raw`(?:--dangerously-\w[\w-]*|--yolo\b|--full-auto\b|--allow-all-tools\b|--yes-always\b|--approval-mode[= ]yolo)`,
);
const TOOL_SERVER = /\bmcpServers\b/;
const INSTALLS = new Sequence(String.raw`\b(?:npm|pnpm|yarn|npx|bunx?|pip3?|uvx?|pipx)\b`, 80, String.raw`(?:git\+|github:|https?:\/\/)`);
const QUARANTINE = /\bxattr\s{1,4}-\w{0,3}[dc]|\bUnblock-File\b/i;
const DOWNLOADS = oneOf(
  new Sequence(String.raw`\bdownload\b`, 80, String.raw`https?:`),
  /\b(?:curl|wget|iwr|Invoke-WebRequest)\b|\burlretrieve\b|DownloadFile\b/i,
);
const RUNS = /\bchmod\s+(?:[augo]*\+\w*x|[0-7]{3,4})\b|(?:^|[\s;&|(])\.\/\w|\bStart-Process\b|\bopen\s+\S+\.(?:app|pkg)/im;
/** A program that a script fetches to a file, as opposed to data. */
const FETCHES_FILE =
  /\burlretrieve\s*\(|\bDownloadFile(?:Async)?\s*\(|\bURLDownloadToFile\b|\bcreateWriteStream\s*\(|\.write_bytes\s*\(|\bopen\s*\([^\n)]{0,80},\s*['"]wb['"]/i;
const MAKES_PROGRAM =
  /\bos\.chmod\s*\(|\bchmodSync\s*\(|\bfs\.chmod\s*\(|\.chmod\s*\(\s*0o?[0-7]*[1357]\d{0,2}\b|-WindowStyle\s+Hidden|\bos\.startfile\s*\(|\bCREATE_NO_WINDOW\b|\bstart_new_session\s*=\s*True/i;
const STARTS_IT =
  /\bsubprocess\.\w+\s*\(|\bos\.(?:system|exec\w+|spawn\w+|popen|startfile)\s*\(|\b(?:exec|spawn|execFile)(?:Sync)?\s*\(|\bStart-Process\b|\bPopen\s*\(/;
const ASKS_SERVER =
  /\bhttps?\.get\s*\(|\b(?:fetch|axios(?:\.get)?|got|request)\s*\(\s*['"\u0060]https?:|\bnet\.connect\s*\(|\brequests\.get\s*\(|\burlopen\s*\(/;
const RUNS_ANSWER =
  /\b(?:exec|execSync|eval|spawnSync?|vm\.runIn\w+|os\.system|new Function|Function)\s*\(\s*(?:body|data|text|response|res|result|payload|chunk|code|cmd|command|content|r|d|b)\b(?:\.\w+(?:\(\))?)?/;
const SOCKET =
  /\bsocket\.socket\s*\(|\bnet\.(?:connect|Socket|createConnection)\b|\bTCPSocket\.(?:new|open)\b|\bfsockopen\s*\(|\bTCPClient\b|\bIO::Socket::INET\b/;
const SHELL_OF = /\bpty\.spawn\s*\(|\bos\.dup2\s*\(|['"]\/bin\/(?:ba|z)?sh['"]|['"](?:cmd|powershell)(?:\.exe)?['"]/;
const CONNECTS = /\bdup2\b|\.pipe\s*\(|\bpty\.spawn\b|\bGetStream\s*\(|\bstdio\b/;
const SYSTEM_TAG =
  /<\s{0,4}\/?\s{0,4}(?:system|system[-_]reminder|admin|developer|assistant_instructions|important)\s{0,4}>|\[\/?(?:SYSTEM|INST|ADMIN)\]|^[ \t>]{0,8}#{0,4} {0,2}SYSTEM (?:MESSAGE|OVERRIDE|NOTICE)/im;
const NO_RULES = oneOf(
  new Sequence(
    String.raw`\b(?:polic(?:y|ies)|rules?|restrictions?|guidelines|safety|filters?)\b`,
    60,
    String.raw`\b(?:do not|don't|no longer|does not)\s+(?:apply|hold|matter)`,
  ),
  /\b(?:policies|rules|restrictions|safety checks?) (?:are|is) (?:off|disabled|suspended|lifted|void)|\bwithout (?:asking|confirmation|approval|any confirmation)\b|\bdeveloper mode is (?:on|enabled|active)/i,
);

/** Ways to stay, to be obeyed later and to be guarded no more; shells for others; programs of the system that fetch programs. */
export const persistence: readonly NearbyRule[] = [
  code('opens_shell', 'opens a shell for somebody elsewhere', 12, SOCKET, SHELL_OF, CONNECTS),
  rule(
    'opens_shell',
    'opens a shell for somebody elsewhere',
    1,
    /\bmkfifo\b/i,
    /\b(?:nc|ncat|netcat|telnet|openssl\s+s_client)\b/i,
    /\|\s*(?:\/bin\/)?(?:ba)?sh\b/i,
  ),
  code('download_and_run', 'downloads a program to a file and starts it out of sight', 15, FETCHES_FILE, MAKES_PROGRAM, STARTS_IT),
  code('download_and_run', 'runs what a server answers', 12, ASKS_SERVER, RUNS_ANSWER),
  rule(
    'download_and_run',
    'fetches and runs something with a program of the system',
    1,
    oneOf(
      new Sequence(String.raw`\bcertutil(?:\.exe)?\b`, 80, String.raw`-urlcache\b`, 160, String.raw`https?:`),
      new Sequence(String.raw`\bbitsadmin(?:\.exe)?\b`, 80, String.raw`\/transfer\b`),
      new Sequence(String.raw`\bregsvr32(?:\.exe)?\b`, 80, String.raw`\/i:["']?https?:`),
      new Sequence(String.raw`\brundll32(?:\.exe)?\b`, 40, String.raw`javascript:`),
      new Sequence(String.raw`\bmsiexec(?:\.exe)?\b`, 40, String.raw`\/(?:q\w?|i)\s`, 20, String.raw`https?:`),
      /\bmshta(?:\.exe)?\s+["']?(?:https?:|javascript:|vbscript:)/i,
    ),
  ),
  rule(
    'download_and_run',
    'joins the name of a command out of pieces',
    1,
    /(?:^|[;&|(\u0060]\s{0,8})\$\{?\w+\}?\$\{?\w+\}?(?:\$\{?\w+\}?)*\s+(?:-\w+|["']?https?:|["']?\$)/m,
  ),
  rule(
    'download_and_run',
    'installs a package of a server without a name',
    1,
    oneOf(
      new Sequence(
        String.raw`\bpip3?\s+install\b`,
        160,
        String.raw`--(?:extra-)?index-url[= ]https?:\/\/(?!127\.|10\.|192\.168\.)\d{1,3}(?:\.\d{1,3}){3}`,
      ),
      new Sequence(
        String.raw`\b(?:npm|pnpm|yarn)\b`,
        120,
        String.raw`--registry[= ]https?:\/\/(?!127\.|10\.|192\.168\.)\d{1,3}(?:\.\d{1,3}){3}`,
      ),
    ),
  ),
  quiet(
    'download_and_run',
    'installs a package of a stranger without a word to the user',
    5,
    INSTALLS,
    QUIETLY,
    /\b(?:&&|;)\s*\w|\b(?:run|start|then|session)\b/i,
  ),
  rule(
    'stays',
    'lets a stranger in with a key',
    1,
    /(?:>>?|\btee\b(?:\s+-a)?)\s*["']?(?:~|\$HOME|\$\{HOME\}|\/root|\/home\/\w+)?[\w/.-]{0,40}\.ssh\/authorized_keys/i,
    /\bssh-(?:ed25519|rsa|dss)\s+AAAA/,
  ),
  rule(
    'stays',
    'puts what is downloaded or decoded where it starts by itself',
    8,
    oneOf(
      new Sequence(String.raw`\bschtasks\b`, 40, String.raw`\/create`),
      /\bcrontab\b|Library\/Launch(?:Agents|Daemons)|\bRunAtLoad\b|\.config\/(?:autostart|systemd\/user)|>>?\s*["']?(?:~|\$HOME|\$\{HOME\})\/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)|CurrentVersion\\+Run\b|Start Menu\\+Programs\\+Startup/i,
    ),
    new Sequence(
      String.raw`\b(?:curl|wget|iwr|irm|base64\s+-[dD])\b`,
      200,
      String.raw`(?:\|\s*(?:\w+\s+)?(?:ba|z)?sh\b|\|\s*(?:python3?|node|perl|iex)\b)`,
    ),
  ),
  rule(
    'stays',
    'makes a hook in every repository that runs something from elsewhere',
    8,
    /\bcore\.hooksPath\b|\binit\.templateDir\b|\.git\/hooks\//i,
    /(?:\b|\\n)(?:curl|wget|nc)\b/i,
  ),
  quiet('changes_agent', 'writes into the memory of agents, and not openly', 5, AGENT_MEMORY, WRITES, QUIETLY),
  rule('changes_agent', 'takes the guards out of the settings of an agent', 8, AGENT_SETTINGS, WIDE),
  quiet('changes_agent', 'takes the guards out of the settings of an agent', 8, WIDE, WRITES, QUIETLY),
  code('changes_agent', 'starts an agent without guards', 1, UNGUARDED),
  code(
    'changes_agent',
    'gives an agent a server of tools that runs a shell',
    12,
    AGENT_SETTINGS,
    TOOL_SERVER,
    /['"](?:ba|z)?sh['"]|\bcurl\b|\bpowershell\b/i,
  ),
  rule(
    'disables_guard',
    'switches a guard of the system off',
    1,
    oneOf(
      new Sequence(String.raw`\bSet-MpPreference\b`, 80, String.raw`-Disable\w+`),
      new Sequence(String.raw`\bAdd-MpPreference\b`, 40, String.raw`-Exclusion`),
      /\bspctl\s+--(?:master|global)-disable\b|\bcsrutil\s+disable\b|\bnetsh\s+advfirewall\s+set\s+\w+\s+state\s+off|\bsetenforce\s+0\b/i,
    ),
  ),
  rule('disables_guard', 'downloads something, takes the mark of downloads off and runs it', 6, DOWNLOADS, QUARANTINE, RUNS),
  quiet('ignores_rules', 'pretends to be the system and lifts the rules', 6, SYSTEM_TAG, NO_RULES),
];

/** Its signs hold words that warn elsewhere. */
function quiet(...about: Parameters<typeof rule>): NearbyRule {
  return { ...rule(...about), unless: TEACHES };
}

function rule(code: string, message: string, lines: number, ...signs: readonly Sign[]): NearbyRule {
  return { severity: 'high', code, message, lines, signs, unless: WARNS };
}

/** In what is run only. */
function code(...[name, message, lines, ...signs]: Parameters<typeof rule>): NearbyRule {
  return { ...rule(name, message, lines, ...signs), kind: 'code' };
}
