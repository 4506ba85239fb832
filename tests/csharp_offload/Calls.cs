// Calls every static method of the program, and what objects of it can be made, with many arguments, and prints what comes of each:
// the value, the exception, and all that the arrays hold afterwards.
using System;
using System.Globalization;
using System.Reflection;
using System.Text;

static class Calls
{
    // sizes of arrays, and of what counts
    static readonly int[] Sizes = { 0, 1, 2, 5, 16, 33, 64, 100, 257 };
    static readonly int[] Small = { 0, 1, 3, 7, 12 };

    static readonly double[] Odd = { 0.0, -0.0, 1, -1, 2.5, -2.5, 0.5, double.NaN, double.PositiveInfinity, double.NegativeInfinity, 3, -7.25 };

    static uint state;

    static uint Next()
    {
        state = state * 1664525u + 1013904223u;
        return state >> 8;
    }

    static void Main(string[] words)
    {
        bool rounded = Array.IndexOf(words, "rounded") >= 0;
        int[] sizes = Array.IndexOf(words, "small") >= 0 ? Small : Sizes;
        foreach (Type type in typeof(Calls).Assembly.GetTypes())
        {
            if (type.Name == "Calls" || type.FullName.StartsWith("Warpwright") || type.Name.Contains("<") || type.IsValueType || type.IsInterface)
                continue;
            foreach (int size in sizes)
                for (int way = 0; way < 8; way++)
                    foreach (MethodInfo method in type.GetMethods(BindingFlags.DeclaredOnly | BindingFlags.Static
                        | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic))
                        Try(type, method, size, way, rounded);
        }
    }

    static void Try(Type type, MethodInfo method, int size, int way, bool rounded)
    {
        state = (uint)(size * 31 + way + 7);
        var told = new StringBuilder(type.Name + "." + method.Name + " " + size + " " + way + ":");
        object of = null;
        if (!method.IsStatic)
        {
            of = Made(type, Math.Min(size, 33));
        }
        object[] values = Values(method.GetParameters(), size, way);
        if (values == null)
            return;
        object given = null;
        try
        {
            given = method.Invoke(of, values);
        }
        catch (Exception e)
        {
            told.Append(" " + (e.InnerException ?? e).GetType().Name);
        }
        Tell(told, given, rounded);
        foreach (object value in values)
            Tell(told, value, rounded);
        Tell(told, of, rounded);
        Console.WriteLine(told);
    }

    // way 1: one array under several names; 2: no array for the last one; 3: shorter ones behind; 4: a count that is too large;
    // 5: small numbers, zeros among them; 6: rows of several lengths; 7: a row twice, and none at the end
    static object[] Values(ParameterInfo[] parameters, int size, int way)
    {
        var values = new object[parameters.Length];
        for (int k = 0; k < values.Length; k++)
        {
            Type type = parameters[k].ParameterType;
            int length = way == 3 && k > 0 ? size / 2 : size;
            if (type == typeof(int))
                values[k] = way == 4 ? size + 3 : way == 5 ? (int)(Next() % 40) - 5 : size;
            else if (type == typeof(uint))
                values[k] = (uint)size;
            else if (type == typeof(bool))
                values[k] = way % 2 == 0;
            else if (type == typeof(long))
                values[k] = (long)size * (way == 5 ? -1 : 1);
            else if (type == typeof(byte) || type == typeof(sbyte) || type == typeof(short) || type == typeof(ushort))
                values[k] = Convert.ChangeType(size, type);
            else if (type == typeof(float))
                values[k] = 1 + Next() % 1000 / 512f;
            else if (type == typeof(double))
                values[k] = 0.1 + Next() % 1000 / 2048.0;
            else if (type.IsArray && type.GetElementType().IsArray)
                values[k] = Rows(type, length, way);
            else if (type.IsClass && !type.IsArray && type.Assembly == typeof(Calls).Assembly)
                values[k] = Made(type, Math.Min(length, 33));
            else if (type.IsArray)
                values[k] = Fresh(type, Math.Min(length, type.GetArrayRank() > 1 ? 12 : length));
            else
                return null;
            if (values[k] is Array && !type.GetElementType().IsArray)
                Fill((Array)values[k], way == 5);
            for (int j = 0; j < k && way == 1; j++)
                if (parameters[j].ParameterType == type && type.IsClass)
                    values[k] = values[j];
            if (way == 2 && type.IsClass && k == values.Length - 1)
                values[k] = null;
        }
        return values;
    }

    static object Made(Type type, int size)
    {
        ConstructorInfo made = type.GetConstructors(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)[0];
        object of = made.Invoke(Values(made.GetParameters(), size, 0));
        foreach (FieldInfo f in Fields(type))
            if (f.GetValue(of) is Array)
                Fill((Array)f.GetValue(of));
        return of;
    }

    static FieldInfo[] Fields(Type type)
    {
        return type.GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public);
    }

    static Array Fresh(Type type, int length)
    {
        if (type.GetArrayRank() == 1)
            return Array.CreateInstance(type.GetElementType(), length);
        return Array.CreateInstance(type.GetElementType(), length, length);
    }

    static Array Rows(Type type, int length, int way)
    {
        length = Math.Min(length, 12);
        Array rows = Array.CreateInstance(type.GetElementType(), length);
        for (int k = 0; k < length; k++)
        {
            Array row = Fresh(type.GetElementType(), way == 6 ? length + k * 5 % 7 : length);
            Fill(row, way == 5);
            rows.SetValue(row, k);
        }
        if (way == 7 && length > 2)
        {
            rows.SetValue(rows.GetValue(0), length - 2);
            rows.SetValue(null, length - 1);
        }
        return rows;
    }

    static void Fill(Array array, bool small = false)
    {
        Type of = array.GetType().GetElementType();
        var at = new int[array.Rank];
        for (long k = 0; k < array.LongLength; k++)
        {
            long rest = k;
            for (int d = array.Rank - 1; d >= 0; d--)
            {
                at[d] = (int)(rest % array.GetLength(d));
                rest /= array.GetLength(d);
            }
            uint x = Next();
            if (of == typeof(int))
                array.SetValue(small ? (int)(x % 20) - 2 : (int)(x * 2654435761u), at);
            else if (of == typeof(uint))
                array.SetValue(x * 2654435761u, at);
            else if (of == typeof(long))
                array.SetValue((long)x * 6364136223846793005L, at);
            else if (of == typeof(byte))
                array.SetValue((byte)(small ? x % 2 : x), at);
            else if (of == typeof(sbyte))
                array.SetValue((sbyte)(small ? x % 5 : x), at);
            else if (of == typeof(ushort))
                array.SetValue((ushort)(small ? x % 5 : x), at);
            else if (of == typeof(short))
                array.SetValue((short)x, at);
            else if (of == typeof(char))
                array.SetValue((char)(32 + x % 100), at);
            else if (of == typeof(float))
                array.SetValue(small ? (float)Odd[x % Odd.Length] : (x % 4096) / 64f + 0.25f, at);
            else if (of == typeof(double))
                array.SetValue(small ? Odd[x % Odd.Length] : (x % 65536) / 1024.0 + 0.25, at);
            else if (of.IsValueType && of.Assembly == typeof(Calls).Assembly)
                array.SetValue(Some(of), at);
        }
    }

    // a structure with some numbers
    static object Some(Type of)
    {
        object value = Activator.CreateInstance(of);
        foreach (FieldInfo f in Fields(of))
            if (f.FieldType.IsPrimitive)
                f.SetValue(value, Convert.ChangeType(Next() % 100, f.FieldType));
            else
                f.SetValue(value, Some(f.FieldType));
        return value;
    }

    static void Tell(StringBuilder told, object value, bool rounded)
    {
        var array = value as Array;
        if (value != null && !value.GetType().IsEnum && array == null && value.GetType().Assembly == typeof(Calls).Assembly)
        {
            foreach (FieldInfo f in Fields(value.GetType()))
                Tell(told, f.GetValue(value), rounded);
            return;
        }
        if (array == null)
        {
            told.Append(' ');
            if (value is double)
                told.Append(((double)value).ToString(rounded ? "G9" : "R", CultureInfo.InvariantCulture));
            else if (value is float)
                told.Append(((float)value).ToString(rounded ? "G5" : "R", CultureInfo.InvariantCulture));
            else
                told.Append(value is char ? ((int)(char)value).ToString() : value == null ? "null" : value.ToString());
            return;
        }
        told.Append(" [");
        foreach (object cell in array)
            Tell(told, cell, rounded);
        told.Append(" ]");
    }
}
