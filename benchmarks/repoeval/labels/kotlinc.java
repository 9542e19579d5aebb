// Call labels of a Kotlin checkout, from the Kotlin compiler's own analysis.
//
// usage: java -cp kotlin-compiler.jar kotlinc.java ROOT FOLDER_OF_JARS < paths
//
// Reads the paths of the Kotlin files (relative to ROOT, one a line) from standard input and writes JSON lines as
// typescript.mjs does. One module holds the files of the JVM and the common ones, with the standard library as its only
// dependency, and errors are ignored: a call that the compiler cannot resolve gets no record. A constructor call is
// labelled with its class.

import com.intellij.openapi.util.Disposer;
import com.intellij.psi.PsiComment;
import com.intellij.psi.PsiElement;
import com.intellij.psi.PsiFile;
import com.intellij.psi.PsiWhiteSpace;
import com.intellij.psi.util.PsiTreeUtil;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.*;
import java.util.regex.Pattern;
import org.jetbrains.kotlin.analyzer.AnalysisResult;
import org.jetbrains.kotlin.cli.common.CLIConfigurationKeys;
import org.jetbrains.kotlin.cli.common.config.ContentRootsKt;
import org.jetbrains.kotlin.cli.common.messages.MessageCollector;
import org.jetbrains.kotlin.cli.jvm.compiler.*;
import org.jetbrains.kotlin.cli.jvm.config.JvmContentRootsKt;
import org.jetbrains.kotlin.config.*;
import org.jetbrains.kotlin.descriptors.CallableDescriptor;
import org.jetbrains.kotlin.lexer.KtModifierKeywordToken;
import org.jetbrains.kotlin.lexer.KtTokens;
import org.jetbrains.kotlin.psi.*;
import org.jetbrains.kotlin.resolve.BindingContext;
import org.jetbrains.kotlin.resolve.DescriptorToSourceUtils;
import org.jetbrains.kotlin.resolve.calls.model.ResolvedCall;
import org.jetbrains.kotlin.resolve.calls.util.CallUtilKt;

class Labels {
  static final int HEAD_LINES = 20;
  static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  // Source sets of other platforms define the same names as those of the JVM.
  static final Pattern OTHER_PLATFORM =
      Pattern.compile(
          "/(js|(wasm|native|nonJvm|ios|apple|darwin|macos|tvos|watchos|linux|mingw|unix|posix|windows)\\w*)(Main|Test)/");
  static final Pattern COMMON = Pattern.compile("/common\\w*/");
  static final Pattern LIBRARY = Pattern.compile("(kotlin-(stdlib|test|reflect|compiler)|kotlinx-coroutines|annotations).*");

  // All definitions of one qualified name in a file: overloads, or a class with its constructors.
  static class Definition {
    final String path, qualname;
    final List<String> spans = new ArrayList<>();

    Definition(String path, String qualname) {
      this.path = path;
      this.qualname = qualname;
    }
  }

  final Path root;
  final Map<String, Definition> definitions = new LinkedHashMap<>(); // by path and qualified name
  final Map<PsiElement, Definition> ofElement = new HashMap<>();
  // By package and qualified name: what common code expects and what the JVM implements, for common code the former.
  final Map<String, Definition> expected = new HashMap<>();
  final Map<String, Set<Definition>> platforms = new HashMap<>();
  final Map<PsiFile, int[]> lineStarts = new HashMap<>();

  Labels(Path root) {
    this.root = root;
  }

  public static void main(String[] arguments) throws Exception {
    Path root = Path.of(arguments[0]).toRealPath();
    List<String> paths = new ArrayList<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = input.readLine()) != null; ) {
      if (!OTHER_PLATFORM.matcher("/" + line).find()) paths.add(root.resolve(line).toString());
    }
    new Labels(root).run(paths, new File(arguments[1]));
    OUT.flush();
    System.exit(0); // the compiler leaves threads behind
  }

  void run(List<String> paths, File jars) {
    var settings = new CompilerConfiguration();
    settings.put(CommonConfigurationKeys.MODULE_NAME, "checkout");
    settings.put(CLIConfigurationKeys.MESSAGE_COLLECTOR_KEY, MessageCollector.Companion.getNONE());
    settings.put(JVMConfigurationKeys.JDK_HOME, new File(System.getProperty("java.home")));
    var features = Map.of(LanguageFeature.MultiPlatformProjects, LanguageFeature.State.ENABLED);
    var language = new LanguageVersionSettingsImpl(LanguageVersion.KOTLIN_1_9, ApiVersion.KOTLIN_1_9, Map.of(), features);
    settings.put(CommonConfigurationKeys.LANGUAGE_VERSION_SETTINGS, language);
    ContentRootsKt.addKotlinSourceRoots(settings, paths);
    for (File jar : Objects.requireNonNull(jars.listFiles())) {
      if (LIBRARY.matcher(jar.getName()).matches()) JvmContentRootsKt.addJvmClasspathRoot(settings, jar);
    }
    var files = EnvironmentConfigFiles.JVM_CONFIG_FILES;
    var compiler = KotlinCoreEnvironment.createForProduction(Disposer.newDisposable(), settings, files);
    AnalysisResult result =
        TopDownAnalyzerFacadeForJVM.analyzeFilesWithJavaIntegration(
            compiler.getProject(), compiler.getSourceFiles(), new NoScopeRecordCliBindingTrace(), settings,
            compiler::createPackagePartProvider);
    for (KtFile file : compiler.getSourceFiles()) {
      for (KtDeclaration each : PsiTreeUtil.collectElementsOfType(file, KtDeclaration.class)) define(file, each);
    }
    for (KtFile file : compiler.getSourceFiles()) {
      for (KtCallExpression each : PsiTreeUtil.collectElementsOfType(file, KtCallExpression.class)) {
        label(file, each, result.getBindingContext());
      }
    }
  }

  void define(KtFile file, KtDeclaration node) {
    String qualname = null;
    if (node instanceof KtConstructor<?> constructor) qualname = qualname(constructor.getContainingClassOrObject());
    else if (node instanceof KtNamedFunction || node instanceof KtClassOrObject) qualname = qualname(node);
    if (qualname == null) return;
    String path = relative(file), name = qualname;
    var found = definitions.computeIfAbsent(path + "\0" + qualname, key -> new Definition(path, name));
    PsiElement start = node.getFirstChild();
    while (start instanceof PsiComment || start instanceof PsiWhiteSpace) start = start.getNextSibling();
    int first = line(file, start == null ? node.getTextOffset() : start.getTextRange().getStartOffset());
    int end = line(file, node.getTextRange().getEndOffset() - 1) + 1;
    String span = "[" + first + ", " + Math.min(end, first + HEAD_LINES) + "]";
    // A primary constructor is a part of the head of its class.
    if (!(node instanceof KtPrimaryConstructor) && !found.spans.contains(span)) found.spans.add(span);
    ofElement.put(node, found);
    String key = file.getPackageFqName() + "/" + qualname;
    if (hasModifier(node, KtTokens.EXPECT_KEYWORD)) expected.put(key, found);
    if (hasModifier(node, KtTokens.EXPECT_KEYWORD) || hasModifier(node, KtTokens.ACTUAL_KEYWORD)) {
      platforms.computeIfAbsent(key, each -> new LinkedHashSet<>()).add(found);
    }
  }

  // Name with the classes around it, or with the receiver's type of an extension; null for an anonymous definition.
  static String qualname(KtDeclaration node) {
    String name = node instanceof KtObjectDeclaration object && object.isCompanion() ? "Companion" : node.getName();
    if (name == null) return null;
    KtTypeReference receiver = node instanceof KtNamedFunction function ? function.getReceiverTypeReference() : null;
    KtClassOrObject owner = PsiTreeUtil.getParentOfType(node, KtClassOrObject.class);
    if (receiver != null) return receiver.getText().replaceAll("<.*|\\?|.*\\.", "") + "." + name;
    String around = owner == null ? null : qualname(owner);
    return owner == null ? name : around == null ? null : around + "." + name;
  }

  static boolean hasModifier(KtDeclaration node, KtModifierKeywordToken modifier) {
    for (PsiElement around = node; around != null; around = around.getParent()) {
      if (around instanceof KtDeclaration each && each.hasModifier(modifier)) return true;
    }
    return false;
  }

  void label(KtFile file, KtCallExpression call, BindingContext context) {
    if (!(call.getCalleeExpression() instanceof KtNameReferenceExpression callee)) return;
    ResolvedCall<? extends CallableDescriptor> resolved = CallUtilKt.getResolvedCall(call, context);
    if (resolved == null) return;
    PsiElement declared = DescriptorToSourceUtils.descriptorToDeclaration(resolved.getResultingDescriptor());
    Definition found = ofElement.get(declared);
    if (found == null) return;
    String key = ((KtFile) declared.getContainingFile()).getPackageFqName() + "/" + found.qualname;
    if (COMMON.matcher(relative(file)).find()) found = expected.getOrDefault(key, found);
    StringJoiner others = new StringJoiner(", ", "[", "]");
    for (Definition each : platforms.getOrDefault(key, Set.of())) {
      if (each != found) others.add("[" + quoted(each.path) + ", " + each.spans + "]");
    }
    int start = callee.getTextRange().getStartOffset(), line = line(file, start);
    OUT.println(
        "{\"kind\": \"call\", \"path\": " + quoted(relative(file)) + ", \"line\": " + line + ", \"end_line\": "
            + (line(file, call.getTextRange().getEndOffset() - 1) + 1) + ", \"column\": "
            + (start - lineStarts.get(file)[line]) + ", \"name\": " + quoted(callee.getText()) + ", \"how\": "
            + quoted(how(resolved, declared)) + ", \"callee\": {\"path\": " + quoted(found.path) + ", \"qualname\": "
            + quoted(found.qualname) + ", \"spans\": " + found.spans + ", \"others\": " + others + "}}");
  }

  // How a reader reaches the definition, for figures by kind.
  static String how(ResolvedCall<?> call, PsiElement declared) {
    if (!(declared instanceof KtNamedFunction)) return "constructor";
    if (call.getExtensionReceiver() != null) return "extension";
    if (call.getDispatchReceiver() == null) return "function";
    return switch (call.getExplicitReceiverKind()) {
      case NO_EXPLICIT_RECEIVER -> "own_object";
      default -> "method";
    };
  }

  int line(PsiFile file, int offset) {
    int[] starts = lineStarts.computeIfAbsent(file, key -> {
      String text = key.getText();
      return java.util.stream.IntStream.concat(
          java.util.stream.IntStream.of(0),
          java.util.stream.IntStream.range(0, text.length()).filter(at -> text.charAt(at) == '\n').map(at -> at + 1)
      ).toArray();
    });
    int found = Arrays.binarySearch(starts, Math.max(offset, 0));
    return found >= 0 ? found : -found - 2;
  }

  String relative(KtFile file) {
    return root.relativize(Path.of(file.getVirtualFilePath())).toString().replace('\\', '/');
  }

  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
