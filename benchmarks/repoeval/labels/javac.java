// Call labels of a Java checkout, from the Java compiler's own attribution.
//
// usage: java javac.java ROOT < paths
//
// Reads the paths of the Java files (relative to ROOT, one a line) from standard input and writes JSON lines as
// typescript.mjs does. One compilation holds all files, as one module without dependencies, and errors are ignored: a
// call that the compiler cannot resolve gets no record. A constructor call is labelled with its class.

import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.ToolProvider;

class Labels {
  static final int HEAD_LINES = 20;
  static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  // All definitions of one qualified name in a file: overloads, or a class with its constructors.
  static class Definition {
    final String path, qualname;
    final List<String> spans = new ArrayList<>();

    Definition(String path, String qualname) {
      this.path = path;
      this.qualname = qualname;
    }

    String fields() {
      return "\"path\": " + quoted(path) + ", \"qualname\": " + quoted(qualname) + ", \"spans\": " + spans;
    }
  }

  final Path root;
  final JavacTask task;
  final Trees trees;
  final Map<String, Definition> definitions = new LinkedHashMap<>(); // by path and qualified name
  final Map<Element, Definition> ofElement = new HashMap<>();

  Labels(Path root, JavacTask task) {
    this.root = root;
    this.task = task;
    this.trees = Trees.instance(task);
  }

  public static void main(String[] arguments) throws Exception {
    Path root = Path.of(arguments[0]).toRealPath();
    List<Path> files = new ArrayList<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = input.readLine()) != null; ) {
      // Several module declarations cannot be compiled together.
      if (!line.endsWith("module-info.java")) files.add(root.resolve(line));
    }
    var compiler = ToolProvider.getSystemJavaCompiler();
    var manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
    List<String> options = List.of("-proc:none", "-implicit:none", "-Xlint:none", "-XDshould-stop.ifError=FLOW");
    var task = compiler.getTask(null, manager, error -> {}, options, null, manager.getJavaFileObjectsFromPaths(files));
    new Labels(root, (JavacTask) task).run();
    OUT.flush();
  }

  void run() throws Exception {
    List<CompilationUnitTree> units = new ArrayList<>();
    for (CompilationUnitTree unit : task.parse()) units.add(unit);
    // A compiler error in one class must not lose the labels of the others.
    try {
      task.analyze();
    } catch (RuntimeException | AssertionError error) {
      System.err.println("javac: " + error);
    }
    for (CompilationUnitTree unit : units) new Definitions(unit).scan(unit, null);
    for (CompilationUnitTree unit : units) new Calls(unit).scan(unit, null);
  }

  String relative(CompilationUnitTree unit) {
    return root.relativize(Path.of(unit.getSourceFile().toUri())).toString().replace('\\', '/');
  }

  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  abstract class Scanner extends TreePathScanner<Void, Void> {
    final CompilationUnitTree unit;
    final SourcePositions positions = trees.getSourcePositions();

    Scanner(CompilationUnitTree unit) {
      this.unit = unit;
    }

    int line(long offset) {
      return (int) unit.getLineMap().getLineNumber(Math.max(offset, 0)) - 1;
    }

    int endLine(Tree tree) {
      return line(positions.getEndPosition(unit, tree) - 1) + 1;
    }
  }

  class Definitions extends Scanner {
    final Deque<String> owners = new ArrayDeque<>();

    Definitions(CompilationUnitTree unit) {
      super(unit);
    }

    @Override
    public Void visitClass(ClassTree node, Void none) {
      String name = node.getSimpleName().toString();
      String qualname = owners.isEmpty() || name.isEmpty() ? name : owners.peek() + "." + name;
      if (!name.isEmpty()) add(node, qualname);
      owners.push(qualname);
      super.visitClass(node, none);
      owners.pop();
      return null;
    }

    @Override
    public Void visitMethod(MethodTree node, Void none) {
      String name = node.getName().toString(), owner = owners.peek();
      boolean isConstructor = node.getReturnType() == null;
      // The compiler adds a constructor without a position of its own.
      boolean isWritten = positions.getEndPosition(unit, node) >= 0;
      if (!owner.isEmpty() && isWritten) add(node, isConstructor ? owner : owner + "." + name);
      owners.push("");
      super.visitMethod(node, none);
      owners.pop();
      return null;
    }

    void add(Tree node, String qualname) {
      String path = relative(unit);
      var found = definitions.computeIfAbsent(path + "\0" + qualname, key -> new Definition(path, qualname));
      int first = line(positions.getStartPosition(unit, node));
      String span = "[" + first + ", " + Math.min(endLine(node), first + HEAD_LINES) + "]";
      if (!found.spans.contains(span)) found.spans.add(span);
      Element element = trees.getElement(getCurrentPath());
      if (element != null) ofElement.put(element, found);
    }
  }

  class Calls extends Scanner {
    Calls(CompilationUnitTree unit) {
      super(unit);
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree node, Void none) {
      ExpressionTree callee = node.getMethodSelect();
      Element element = trees.getElement(new TreePath(getCurrentPath(), callee));
      Tree receiver = callee instanceof MemberSelectTree select ? select.getExpression() : null;
      Definition found = ofElement.get(element);
      // `this(…)` and `super(…)` are no calls of a name.
      if (found != null && element.getKind() == ElementKind.METHOD) emit(node, callee, found, how(element, receiver));
      return super.visitMethodInvocation(node, none);
    }

    @Override
    public Void visitNewClass(NewClassTree node, Void none) {
      ExpressionTree callee = node.getIdentifier();
      Tree name = callee instanceof ParameterizedTypeTree typed ? typed.getType() : callee;
      Element element = trees.getElement(new TreePath(new TreePath(getCurrentPath(), callee), name));
      Definition found = ofElement.get(element);
      if (found != null) emit(node, name, found, "constructor");
      return super.visitNewClass(node, none);
    }

    // How a reader reaches the definition, for figures by kind.
    String how(Element element, Tree receiver) {
      if (receiver == null) return element.getModifiers().contains(Modifier.STATIC) ? "static_plain" : "own_object";
      if (receiver.toString().equals("super")) return "super";
      if (receiver.toString().equals("this")) return "own_object";
      return element.getModifiers().contains(Modifier.STATIC) ? "static" : "method";
    }

    void emit(Tree node, Tree callee, Definition found, String how) {
      String text = callee.toString();
      String name = text.substring(text.lastIndexOf('.') + 1);
      long at = positions.getEndPosition(unit, callee) - name.length();
      int line = line(at);
      long column = at - unit.getLineMap().getStartPosition(line + 1);
      OUT.println(
          "{\"kind\": \"call\", \"path\": " + quoted(relative(unit)) + ", \"line\": " + line + ", \"end_line\": "
              + endLine(node) + ", \"column\": " + column + ", \"name\": " + quoted(name) + ", \"how\": "
              + quoted(how) + ", \"callee\": {" + found.fields() + "}}");
    }
  }
}
