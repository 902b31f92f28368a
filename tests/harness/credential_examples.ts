import type { CredentialKind } from "../../src/redaction/find_tokens.ts";

export const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
export const LETTERS = UPPER + UPPER.toLowerCase();
export const HEX = "0123456789abcdef";

/** Made-up characters that look random, the same on every run. */
export function noise(length: number, alphabet = LETTERS + "0123456789"): string {
  let seed = 20280229 + length;
  let text = "";
  while (text.length < length) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    text += alphabet[(seed >>> 16) % alphabet.length];
  }
  return text;
}

const dashes = "-".repeat(5);
export const PEM = [`${dashes}BEGIN RSA PRIVATE`, ` KEY${dashes}`].join("");
export const PEM_END = PEM.replace("BEGIN", "END");
const PEM_LINES = [PEM, noise(64), noise(64), noise(20) + "==", PEM_END];
export const JWT = ["eyJhbGciOiJIUzI1NiJ9", "eyJ" + noise(40), noise(43)].join(".");
const OPENSSH = PEM_LINES.join("\n").replaceAll("RSA", "OPENSSH");

/**
 * Credentials in any context. Put together here, so that no scanner of repositories takes the
 * examples for real ones.
 */
export const TOKENS: Partial<Record<CredentialKind, string[]>> = {
  openai_key: [
    "sk-" + noise(48),
    "sk-" + "proj-" + noise(74) + "_" + noise(74),
    "sk-" + "svcacct-" + noise(40),
    "sk-" + noise(32, HEX),
  ],
  anthropic_key: [
    "sk-" + "ant-api03-" + noise(86) + "-" + noise(6) + "AA",
    "sk-" + "ant-admin01-" + noise(40),
  ],
  openrouter_key: ["sk-" + "or-v1-" + noise(64, HEX)],
  google_key: ["AI" + "za" + noise(35), "GOC" + "SPX-" + noise(28), "ya" + "29." + noise(120)],
  xai_key: ["xai" + "-" + noise(80)],
  groq_key: ["gsk" + "_" + noise(52)],
  huggingface_token: ["hf" + "_" + noise(34), "hf" + "_" + noise(34, LETTERS)],
  aws_access_key_id: [
    "AK" + "IA" + noise(16, UPPER + "234567"),
    "AK" + "IAIOSFODNN7EXAMPLE",
    "AS" + "IA" + noise(16, UPPER + "234567"),
  ],
  github_token: [
    ...["p", "o", "u", "s", "r"].map((type) => `gh${type}_` + noise(36)),
    "github" + "_pat_" + noise(22) + "_" + noise(59),
  ],
  gitlab_token: ["gl" + "pat-" + noise(20), "gl" + "ptt-" + noise(40)],
  slack_token: ["a", "b", "p", "r", "s"].map((type) =>
    `xox${type}-` + "123456789012-1234567890123-" + noise(24)
  ),
  stripe_key: [
    "sk" + "_live_" + noise(24),
    "rk" + "_live_" + noise(24),
    "sk" + "_test_" + noise(24),
    "wh" + "sec_" + noise(32),
  ],
  twilio_key: ["S" + "K" + noise(32, HEX)],
  sendgrid_key: ["S" + "G." + noise(22) + "." + noise(43)],
  npm_token: ["np" + "m_" + noise(36)],
  pypi_token: ["py" + "pi-AgEIcHlwaS5vcmc" + noise(150)],
  purser_key: ["ps" + "r_" + noise(32)],
  jwt: [JWT, JWT.slice(0, 80), JWT.slice(0, JWT.lastIndexOf(".") + 1)],
  service_token: [
    ...[
      "figd_",
      "lin" + "_api_",
      "ntn_",
      "r8_",
      "glsa_",
      "glc_",
      "sntrys_",
      "ddp_",
      "pscale" + "_tkn_",
      "lsv2" + "_pt_",
    ],
    ...[
      "pplx-",
      "tvly-",
      "nvapi-",
      "sk-lf-",
      "dckr" + "_pat_",
      "ATATT3",
      "sq0" + "atp-",
      "PMAK-",
      "NRAK-",
      "hvs.",
      "dp.pt.",
    ],
  ].map((prefix) => prefix + noise(40)).concat(
    ["dop" + "_v1_", "sbp_", "rubygems_", "shp" + "at_", "dapi", "key-", "fc-", "e2b_"].map((prefix) =>
      prefix + noise(64, HEX)
    ),
    "AGE-SECRET" + "-KEY-1" + noise(58, UPPER),
  ),
  private_key: [
    PEM_LINES.join("\n"),
    PEM_LINES.join("\r\n"),
    PEM_LINES.join("\\n"),
    PEM_LINES.join('\\n" +\n  "'),
    OPENSSH,
    [PEM, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC," + noise(32, HEX), "", ...PEM_LINES.slice(1)]
      .join("\n"),
    PEM_LINES.slice(0, 3).join("\n"),
    PEM_LINES.join("\\n").slice(0, 150),
    PEM_LINES.slice(1).join("\n"),
  ],
  high_entropy_token: [
    noise(24),
    noise(32),
    noise(40),
    noise(43) + "=",
    noise(64),
    noise(20) + "/" + noise(12) + "+" + noise(9),
    noise(30) + "_" + noise(12),
  ],
};

export const hex = noise(32, HEX);
const secretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY";
const webhook = "T00000000/B00000000/" + noise(24);

/** Credentials by their context: `«…»` is the replaced part. */
export const PLACES: Partial<Record<CredentialKind, string[]>> = {
  authorization_header: [
    `Authorization: Bearer «${hex}»`,
    "authorization: Bearer «abc123»\r\nHost: example.com",
    "Authorization: Basic «dXNlcjpwYXNz»",
    "Proxy-Authorization: Basic «dXNlcjpwYXNz»",
    `Authorization: token «${hex}»`,
    `Authorization: «${hex}»`,
    `{"authorization":"Bearer «${hex}»"}`,
    `{\\"Authorization\\": \\"Bearer «${hex}»\\"}`,
    `curl -H "Authorization: Bearer «${hex}»" https://example.com`,
    `then use Bearer «${hex}» for it`,
    "curl -u alice:«hunter2» https://example.com",
    "curl -X POST --user 'alice:«hunter2»' https://example.com",
  ],
  cookie: [
    "Cookie: «session=abcdef0123456789; theme=dark»",
    `Set-Cookie: «sid=${hex}; HttpOnly; Path=/»\r\nX: y`,
  ],
  url_credential: [
    "https://user:«pass»@host/path",
    "postgres://app:«s3cr3t»@db.example.com:5432/app",
    "redis://:«s3cr3t»@localhost:6379",
    "mongodb+srv://app:«p@ss1»@c.example.net/x",
    "https:\\/\\/user:«pass»@host",
    `https://«${noise(40)}»@git.example.com/x.git`,
    `https://example.com/p?api_key=«abc123def»&token=«${hex}»&x=1`,
    "https://example.com/p?x=1&amp;key=«abc123def»#part",
    "https://example.com/blob?sig=«abc%2Bdef12%3D»&se=1",
  ],
  webhook_url: [
    `https://hooks.slack.com/services/«${webhook}»`,
    `"https:\\/\\/hooks.slack.com\\/services\\/«${webhook.replaceAll("/", "\\/")}»"`,
    `https://discord.com/api/webhooks/«1234567890/${noise(68)}»`,
  ],
  aws_secret_key: [
    `aws_secret_access_key = «${secretKey}»`,
    `export AWS_SECRET_ACCESS_KEY=«${secretKey}»`,
    `"SecretAccessKey": "«${secretKey}»"`,
  ],
  named_secret: [
    "password=«hunter2»",
    "PASSWORD=«hunter2»\nUSER=bob",
    "password: «hunter2»",
    "Password: `«hunter2»`",
    "**Password:** «hunter2».",
    "password = «hunter2» # a comment",
    '{"password":"«hunter2»"}',
    '{"user":"bob","password":"«swordfish»"}',
    '{\\"password\\":\\"«hunter2»\\"}',
    "{'password': '«hunter2»'}",
    "'password' => '«hunter2»'",
    'const password = "«hunter2»";',
    'password: str = "«hunter2»"',
    'os.environ["DB_PASSWORD"] = "«hunter2»"',
    '"password": "«hunter2',
    "\\npassword=«hunter2»\\n",
    "password=«swordfish»\n",
    "SECRET_KEY=«supersecret»",
    "export DB_PASSWORD=«swordfish»\n",
    "docker run -e POSTGRES_PASSWORD=«letmein» postgres",
    "Server=db;User Id=sa;Password=«swordfish»;",
    `AccountName=x;AccountKey=«${noise(86)}==»;EndpointSuffix=core`,
    "<password>«hunter2»</password>",
    "mysql --password «hunter2» -h db",
    `vercel --token «${hex}»`,
    "--password=«hunter2»",
    `api_key: «${hex}»`,
    `My API key: «${hex}»`,
    `"api_key": "«${hex}»"`,
    '"apiKey":"«not-a-real-key-1»"',
    `-H 'x-api-key: «${hex}»'`,
    `client_secret=«${hex}»&grant_type=x`,
    `//registry.npmjs.org/:_authToken=«${hex}»`,
    '"auth": "«dXNlcjpwYXNz»"',
    `token: «${hex}»`,
    '"secret": "«s3cr3t-v4lue»"',
  ],
};

/** Texts without credentials. */
export const HARMLESS: Record<string, string[]> = {
  prose: [
    "The quick brown fox jumps over the lazy dog; the bearer of this letter has no password.",
    "Your password must have 8 characters and 1 digit. Password: keep it safe",
    "password: must be at least 8 characters, the secret: none, a token: the unit of text",
    "Bearer token authentication is required, basic understanding-of-OAuth2-and-more is enough",
    "Das Passwort: mindestens 12 Zeichen. Le mot de passe : 8 caractères. La contraseña: debe tener 8",
    "пароль: должен содержать 8 символов; 密码：必须至少8个字符。パスワード：8文字以上",
    "pass: 12, fail: 3. --- PASS: TestSum/case_1 (0.00s). A compass: 123abc456",
    "Cookie: chocolate chip",
  ],
  code: [
    "interface User { password: string; token?: string; apiKey: string | undefined; key: Uint8Array }",
    "password: z.string().min(8), secret: z.string(), token: Uint8Array",
    'password: "Enter your password", label: "Password", token: "identifier"',
    '{ token: "comment.doc.2", foreground: "A31515" }',
    "password = getPassword(); connect(password=password, token=self.token2, key=keys[0])",
    "const token = await getToken2(); const secret = tokens[0]; options.token = token1Of(user)",
    'apiKey: process.env.OPENAI_API_KEY, api_key=os.environ["KEY1"], privateKey: ec2Key',
    'headers["Authorization"] = "Bearer " + token2; `Authorization: Bearer ${token}`',
    '{"max_tokens": 4096, "total_tokens": 123456789, "pad_token": "<pad>", "token_type": "bearer"}',
    "if (password == other.password2) resetPassword: abc123def",
    '<label>Password</label><input type="password" name="password1">',
    `The marker "${PEM}" characteristically begins one`,
    `if (text.includes("${PEM}")) text = text.replace("${PEM_END}", "")`,
    'password: "required|string|min:8"',
    "hf_hub_download_the_model_file_now_please npm_config_registry_default_value_for_all",
    "psr_some_long_identifier_name sk-loading-spinner-circle-1-fade task-proj-abc123def456ghi789jkl",
    "docker run -u 1000:1000 alpine; curl -u user: https://example.com",
    'cache_key: user-123-profile-v2, key: "some-key-value-1", next_page_token=CAUQAA123456',
  ],
  names: [
    "AbstractSingletonProxyFactoryBean2Test convertUtf8ToUtf16LittleEndianBytes",
    "getUserById2FromDatabaseV3Async testShouldReturn404WhenUserNotFound OpConvertToInt64Float32x4",
    "a_very_long_snake_case_identifier_with_42_words A_CONSTANT_OF_32_BITS_AND_MORE_THAN_THAT",
    "Meta-Llama-3-70B-Instruct-GPTQ-4bit DeepSeek-R1-Distill-Qwen-32B-Q4_K_M-GGUF x86_64-unknown-linux-gnu",
    "/usr/local/lib/python3.11/site-packages/HTTPLib2Client/AbstractBase64Encoder.py",
    "C:\\Users\\JohnDoe2\\AppData\\Local\\Temp1 PWD=/home/alice/project1 password=/run/secrets/db1",
  ],
  ids: [
    "550e8400-e29b-41d4-a716-446655440000 Item-550E8400-E29B-41D4-A716-446655440000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV run_01jd8f3k2m4n5p6q7r8s9t0v1w ses_01jd8f3k2m4n5p6q7r8s9t0v1w",
    `call_${noise(24)} toolu_01${noise(22)} msg_01${noise(22)} chatcmpl-${noise(29)} pi_${noise(24)}`,
    "da39a3ee5e6b4b0d3255bfef95601890afd80709 d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "0x52908400098527886E0F7030069857D2E4169EE7 123456789012345678901234567890 3.14159265358979323846264338",
    "2026-01-01T00:00:00.000Z 2024-01-15T10-30-00Z-Backup-v2-Final",
    `sha512-${noise(86)}== SHA256:${noise(43)} "etag": "${noise(30)}" "node_id": "${noise(28)}"`,
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${noise(43)} user@host`,
  ],
  urls: [
    "https://example.com:8080/a@b?token=&x=1#top ssh://git@host:22/x git@github.com:foo/bar.git",
    `https://docs.example.com/document/d/${noise(44)}/edit?fbclid=${noise(60)}`,
    "https://user:${PASS}@host https://user:****@host https://example.com/?api_key=<API_KEY>",
    '"auth": "https://auth.example.com/v1"',
  ],
  media: [
    `data:image/png;base64,${noise(400)}==`,
    noise(1001),
    `${dashes}BEGIN CERTIFICATE${dashes}\n${noise(64)}\n${noise(64)}\n${
      noise(30)
    }=\n${dashes}END CERTIFICATE${dashes}`,
    `=?utf-8?b?${noise(40)}?=`,
  ],
  placeholders: [
    "sk-… sk-... sk-ant-… <API_KEY> ${TOKEN} YOUR_API_KEY **** sk-ant-api03-xxxxxxxxxxxxxxxxxxxx AKIAxxxxxxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-... API_KEY=your-api-key-here API_KEY=${API_KEY} API_KEY=$KEY API_KEY=changeme API_KEY=",
    'password: ******** "password": "" "password": null password=None secret: true PASSWORD=password',
    "Authorization: Bearer <token>, Authorization: Bearer $TOKEN, Authorization: Bearer YOUR_API_KEY",
    "Authorization: Bearer token, Authorization: Required, Authorization: Bearer %s",
    "password: env:DB_PASSWORD1, api_key: op://vault/item1/key",
    "[redacted] [redacted:openai_key] password=[redacted:named_secret] https://u:[redacted:url_credential]@host",
    "[redacted:aws_secret_key]=abc12345x Authorization: Bearer [redacted:authorization_header]",
  ],
};
