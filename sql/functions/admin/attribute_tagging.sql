create or replace function loom.attribute_tagging(p_on boolean) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  insert into loom.setting (name, value)
  values ('memory_attribute_tagging', case when p_on then 'on' else 'off' end)
  on conflict (name) do update set value = excluded.value;
end
$$;
comment on function loom.attribute_tagging(boolean) is
'Switches the tagging of protected attributes on or off for what is written from now on: the setting LOOM_MEMORY_ATTRIBUTE_TAGGING, as the applier found it. For the migration login alone.';
